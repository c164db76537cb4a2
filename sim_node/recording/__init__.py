"""Bags: rosbag2 recordings of runs and of the live graph: read, repair, compare and replay them."""

from sim_node.lazy import public

with public(__name__, Settings="RecordingSettings"):
    from sim_node.recording.bag import Bag as Bag
    from sim_node.recording.bag import BagAttachment as BagAttachment
    from sim_node.recording.bag import BagError as BagError
    from sim_node.recording.bag import BagMessage as BagMessage
    from sim_node.recording.bag import BagTopic as BagTopic
    from sim_node.recording.bag import DecodedMessage as DecodedMessage
    from sim_node.recording.bag import RecordingStopped as RecordingStopped
    from sim_node.recording.bag import storage as storage
    from sim_node.recording.opening import is_bag as is_bag
    from sim_node.recording.opening import open_bag as open_bag
    from sim_node.recording.recorder import Recorder as Recorder
    from sim_node.recording.settings import RecordingSettings as RecordingSettings
    from sim_node.recording.settings import SettingsFault as SettingsFault
    from sim_node.recording.split_bag import SplitBag as SplitBag
    from sim_node.recording.transforms import BagTransforms as BagTransforms
