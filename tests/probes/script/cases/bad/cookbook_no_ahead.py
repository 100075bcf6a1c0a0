"""The cookbook loop, told not to submit ahead; its metrics read under names of another loop."""
import asyncio
import json

from tinker_cookbook.supervised import train

config = train.Config(
    log_path="/tmp/run",
    model_name="Qwen/Qwen3-8B",
    renderer_name="qwen3",
    learning_rate=1e-4,
    submit_ahead=0,
)
asyncio.run(train.main(config))
for line in open("/tmp/run/metrics.jsonl"):
    print(json.loads(line)["time/total"])
