"""The same with a package that is named like no part of the SDK."""
import tinker
from cloudy.storage import Bucket

bucket = Bucket(tinker.ServiceClient())
first = tinker.ModelInput.from_ints([1, 2], routing=None)  # api-unknown-keyword
second = tinker.ServiceClient().create_reward_client("x")  # api-unknown-name
third = tinker.ServiceClient().create_judge_client("x")  # api-unknown-name
