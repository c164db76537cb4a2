"""Listen to /tf and /tf_static: serialized messages go into the tree without message objects."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from tf2_msgs.msg import TFMessage

from sim_node.messages.tf_message_reader import (
    TfMessageReader,
    TransformBatch,
    TransformNames,
    Unreadable,
    is_plain_cdr,
)
from sim_node.ros import publishers as profiles
from sim_node.ros.buffer import Buffer
from sim_node.ros.participant import start_spinning
from sim_node.ros.publishers import publishers_of
from sim_node.ros.tf2_conversions import from_message
from sim_node.spatial.tree import InvalidTransform, TransformTree
from sim_node.text import shown

# Maximum number of names whose rejected transforms are counted: a publisher could send any number of names.
_MAX_REFUSED = 4096

# Called with each message, and whether it was received on /tf_static
OnBatch = Callable[[TransformBatch, bool], None]


class TransformListener:
    """Feeds a buffer from the graph until it is garbage-collected or `unregister` is called.

    Args:
        buffer: The Buffer to feed. It follows the node's clock.
        node: The node whose context, namespace and remappings are used.
        spin_thread: True to listen in a separate node and daemon thread, so that blocking lookups work in any callback
            of any executor. False to listen in `node`; a blocking lookup must then not block the only thread of its
            executor.
        qos: QoS of /tf as in tf2_ros: a depth or a profile.
        static_qos: QoS of /tf_static, likewise.
        tf_topic: The topic of dynamic transforms.
        tf_static_topic: The topic of static transforms.
        on_batch: Called with every message.
    """

    def __init__(
        self,
        buffer: Buffer,
        node: Node,
        *,
        spin_thread: bool = True,
        qos: QoSProfile | int | None = None,
        static_qos: QoSProfile | int | None = None,
        tf_topic: str = "/tf",
        tf_static_topic: str = "/tf_static",
        on_batch: OnBatch | None = None,
    ) -> None:
        self.node = node
        self._buffer = buffer
        topics = node.resolve_topic_name(tf_topic), node.resolve_topic_name(tf_static_topic)
        self._receiver = receiver = _Receiver(buffer.tree, node, topics, on_batch)
        buffer.follow(node)
        host, stop_spinning = _own_node(node) if spin_thread else (node, _nothing)
        group = ReentrantCallbackGroup()
        self.tf_sub, self.tf_static_sub = (
            host.create_subscription(
                TFMessage,
                topic,
                receive,
                default if profile is None else profile,
                callback_group=group,
                raw=True,
            )
            for topic, receive, profile, default in (
                (topics[0], receiver.receive, qos, profiles.TF),
                (topics[1], receiver.receive_static, static_qos, profiles.TF_STATIC_LISTENER),
            )
        )
        # Runs when the listener is garbage-collected, or at exit before daemon threads are stopped.
        self._stop = weakref.finalize(self, _stop, host, (self.tf_sub, self.tf_static_sub), stop_spinning)

    @property
    def buffer(self) -> Buffer:
        """The buffer to feed. It can be replaced."""
        return self._buffer

    @buffer.setter
    def buffer(self, buffer: Buffer) -> None:
        self._buffer = buffer
        self._receiver.feed(buffer.tree)

    @property
    def refused(self) -> dict[str, int]:
        """Number of rejected transforms, by `PARENT -> CHILD`: loops, invalid poses, old stamps."""
        return dict(self._receiver.refused)

    @property
    def unreadable(self) -> dict[str, int]:
        """Number of unreadable messages, by topic. The first one of each topic was logged."""
        return dict(self._receiver.unreadable.by_topic)

    def unregister(self) -> None:
        """Stop listening. The buffer keeps its transforms."""
        self._stop()


class _Receiver:
    """Stores messages in a tree. It does not reference its listener, so that the listener can be collected."""

    def __init__(self, tree: TransformTree, node: Node, topics: tuple[str, str], on_batch: OnBatch | None) -> None:
        self._tree = tree
        self._node = weakref.ref(node)
        self._log = log = node.get_logger()
        self._topics = topics
        self._on_batch = on_batch
        self.unreadable = Unreadable(log.warning)
        self._reader = TfMessageReader()
        # A multi-threaded executor may run both callbacks at once.
        self._lock = threading.Lock()
        self._indices: dict[TransformNames, tuple[Any, Any]] = {}
        self.refused: dict[str, int] = {}

    def feed(self, tree: TransformTree) -> None:
        """Store messages in another tree from now on."""
        with self._lock:
            self._tree = tree
            self._indices = {}

    def receive(self, message: Any) -> None:
        """Store a message of /tf."""
        self._store(message, static=False)

    def receive_static(self, message: Any) -> None:
        """Store a message of /tf_static."""
        self._store(message, static=True)

    def _store(self, message: bytes, static: bool) -> None:
        with self._lock:
            try:
                batch = self._read(message)
            except (
                Exception
            ) as error:  # exceptions of rclpy and the middleware have no common base, and any peer can cause them
                topic = self._topics[static]
                self.unreadable.count(topic, error, publishers_of(self._node(), topic))
                return
            indices = self._indices.get(batch.names)
            if indices is None:
                if len(self._indices) >= 4096:
                    self._indices.clear()
                indices = self._tree.indices(batch.names.parents), self._tree.indices(batch.names.children)
                self._indices[batch.names] = indices
            tree = self._tree
        parents, children = indices
        try:
            tree.set_transforms(parents, children, batch.stamps_ns, batch.poses, static)
        except InvalidTransform as error:
            self._count(error)
        if self._on_batch is not None:
            self._on_batch(batch, static)

    def _count(self, error: InvalidTransform) -> None:
        """Count a rejected transform and warn once about each, because a publisher repeats its error at its rate."""
        for refusal in error.refusals:
            # Transforms with an empty name are counted together.
            named = refusal.parent and refusal.child
            name = f"{shown(refusal.parent)} -> {shown(refusal.child)}" if named else "unnamed frames"
            with self._lock:
                is_new = name not in self.refused
                if is_new and len(self.refused) == _MAX_REFUSED:
                    continue
                self.refused[name] = self.refused.get(name, 0) + 1
            if is_new:
                self._log.warning(f"transform refused: {refusal}; more of {name} are counted, not logged")

    def _read(self, message: bytes) -> TransformBatch:
        if is_plain_cdr(message):
            return self._reader.read(message)
        # The middleware's deserialiser supports other encodings.
        batch = _typed(deserialize_message(message, TFMessage))
        self._log.info("/tf is read by the middleware: it is not plain CDR", once=True)
        return batch


def _typed(message: Any) -> TransformBatch:
    rows = [from_message(transform) for transform in message.transforms]
    names = TransformNames(tuple(row[0] for row in rows), tuple(row[1] for row in rows))
    stamps = np.array([row[2] for row in rows], np.int64)
    return TransformBatch(names, stamps, np.array([row[3] for row in rows]).reshape(-1, 7))


def _own_node(node: Node) -> tuple[Node, Callable[[], None]]:
    """Create a hidden node beside `node`, spun by a daemon thread. Return it and a function that stops it."""
    own = Node(
        f"_{node.get_name()}_tf_listener",
        namespace=node.get_namespace(),
        context=node.context,
        # `node` resolves the topics, and its `__node:=` must not rename this node.
        use_global_arguments=False,
        enable_rosout=False,
        start_parameter_services=False,
        parameter_overrides=[Parameter("start_type_description_service", value=False)],
    )
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(own)

    stop_spinning = start_spinning(executor, "tf listener")

    def stop() -> None:
        stop_spinning()
        own.destroy_node()

    return own, stop


def _stop(host: Node, subscriptions: tuple[Any, ...], stop_spinning: Callable[[], None]) -> None:
    stop_spinning()
    for subscription in subscriptions:
        host.destroy_subscription(subscription)


def _nothing() -> None:
    pass
