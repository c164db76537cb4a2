"""Messages by the definitions that bags carry."""

from __future__ import annotations

import dataclasses
import gc
import weakref

from sim_node.recording.bag import BagTopic
from sim_node.recording.decoding import Decoder, field_names

# As rosbag2 keeps what was written as .idl: a section for each type, with the includes that it had.
IDL = """\
================================================================================
IDL: acme_msgs/msg/Anvil
#include "builtin_interfaces/msg/Time.idl"
module acme_msgs { module msg { struct Anvil { uint8 kind; builtin_interfaces::msg::Time dropped; }; }; };
================================================================================
IDL: builtin_interfaces/msg/Time
module builtin_interfaces { module msg { struct Time { int32 sec; uint32 nanosec; }; }; };
"""


def test_a_message_is_decoded_by_its_idl() -> None:
    """The bytes are plain CDR, little-endian, laid out by hand: OMG DDS-XTypes 1.3, section 7.4.3."""
    message = Decoder(BagTopic("/anvil", "acme_msgs/msg/Anvil", 1, definition=IDL))(
        bytes.fromhex("00010000 05000000 01000000 02000000")
    )
    assert (message.kind, message.dropped.sec, message.dropped.nanosec) == (5, 1, 2)


def test_a_decoder_that_is_gone_leaves_no_classes_of_its_messages() -> None:
    """Each bag's definitions become classes of its own: thousands of bags in one process must not add up."""
    kinds = []
    for _ in range(5):
        decoder = Decoder(BagTopic("/anvil", "acme_msgs/msg/Anvil", 1, definition=IDL))
        kind = decoder.store.types["acme_msgs/msg/Anvil"]
        assert field_names(kind(*(None for _ in dataclasses.fields(kind)))) == ("kind", "dropped")
        kinds.append(weakref.ref(kind))
        del decoder, kind
    gc.collect()
    assert sum(kind() is not None for kind in kinds) <= 1, "rosbags keeps the last one"


def test_topics_of_one_definition_share_their_classes() -> None:
    """A bag may have thousands of topics: parsing takes milliseconds for each definition."""
    anvils = [Decoder(BagTopic(f"/anvil_{row}", "acme_msgs/msg/Anvil", 1, definition=IDL)) for row in range(3)]
    assert anvils[0].store is anvils[1].store is anvils[2].store
    other = Decoder(BagTopic("/anvil", "acme_msgs/msg/Anvil", 1, definition=IDL.replace("kind", "sort")))
    assert other.store is not anvils[0].store
