"""A package that was not read, for training with the SDK: it may add arguments to it."""
import tinker
from cloudy.training.sdk import CloudyClient

client = CloudyClient(tinker.ServiceClient())
first = tinker.ModelInput.from_ints([1, 2], routing=None)  # api-unknown-keyword
second = tinker.ServiceClient().create_reward_client("x")  # api-unknown-name
