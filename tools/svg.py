"""Parts of SVG pictures that several of the tools beside this one draw."""

WIDTH, HEIGHT = 1000, 430
INK, FAINT, PAPER = "#333333", "#b8c4d0", "#ffffff"


def write_page(path, label, body):
    """Writes a picture of WIDTH x HEIGHT; label: what it shows, for those who do not see it."""
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="DejaVu Sans, Verdana, sans-serif" font-size="13" fill="{INK}" role="img" '
        f'aria-label="{label}">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="{PAPER}"/>\n{body}\n</svg>\n',
        encoding="utf-8",
    )


def line(points, colour, width, dash=""):
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="{width}"{dashed}/>'


def text(x, y, words, colour=INK, anchor="start", bold=False):
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}"{weight}>{words}</text>'
