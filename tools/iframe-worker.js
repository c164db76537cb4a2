// The search of the site runs in a worker, which browsers refuse to pages from files: here a frame stands for it.
if (location.protocol === "file:") window.Worker = class extends EventTarget {
  constructor(url) {
    super()
    this.early = []
    const frame = document.createElement("iframe")
    frame.hidden = true
    // A worker's script posts to its owner, and may load further scripts.
    const scope = document.createElement("script")
    scope.textContent = `
      self.postMessage = data => parent.postMessage(data, "*")
      self.importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done, failed) => {
        document.head.append(Object.assign(document.createElement("script"), {src: url, onload: done, onerror: failed}))
      })), Promise.resolve())`
    const script = Object.assign(document.createElement("script"), { src: String(new URL(url, location)) })
    frame.srcdoc = `<!doctype html><head>${scope.outerHTML}${script.outerHTML}</head><body></body>`
    frame.addEventListener("load", () => {
      this.frame = frame
      this.early.splice(0).forEach(data => this.postMessage(data))
    })
    window.addEventListener("message", event => {
      if (event.source !== frame.contentWindow) return
      const message = new MessageEvent("message", { data: event.data })
      this.dispatchEvent(message)
      this.onmessage?.(message)
    })
    document.body.append(frame)
  }

  postMessage(data) {
    // Not the frame's own postMessage, which posts to this window.
    if (this.frame) window.postMessage.call(this.frame.contentWindow, data, "*")
    else this.early.push(data)
  }

  terminate() {
    this.frame?.remove()
  }
}
