# expect: pattern embedding-without-spmd-rank 23
# expect: pattern tensor-not-registered 26
# expect: pattern python-rank-in-forward 30
# expect: pattern slice-at-rank 31
# expect: pattern collective-in-forward 32
# expect: pattern value-branch-in-forward 33
# expect: pattern mask-slice-assigned 35
# expect: pattern capture-without-sampling 67
# expect: pattern early-expert-affinity 68
import torch
import torch.distributed as dist
from neuronx_distributed.parallel_layers import parallel_state
from neuronx_distributed.parallel_layers.layers import ParallelEmbedding, SPMDRank
from neuronx_distributed.utils import cpu_mode
from neuronx_distributed_inference.models.config import MoENeuronConfig, NeuronConfig
from torch import nn


class Bad(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.good = ParallelEmbedding(config.vocab_size, 8, use_spmd_rank=True)
        self.embed = ParallelEmbedding(config.vocab_size, 8)
        self.split = ParallelEmbedding(config.vocab_size, 8, shard_across_embedding=True)
        self.open = ParallelEmbedding(**config.embedding)
        self.scale = torch.tensor([1.0])
        self.weight = nn.Parameter(torch.ones(8))

    def forward(self, x, mask):
        rank = parallel_state.get_tensor_model_parallel_rank()
        x = torch.narrow(x, 0, rank * 8, 8)
        dist.all_reduce(x)
        if mask.sum().item() == 0:
            return x
        mask[: rank * 2, :] = 0
        return x * self.scale * self.weight


class Good(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.rank_util = SPMDRank(world_size=8)
        self.register_buffer("scale", torch.tensor([1.0]))

    def forward(self, x, mask):
        if cpu_mode():
            dist.all_reduce(x)
        rank = self.rank_util.get_rank()
        x = torch.narrow(x, 0, 0, 8)
        mask[: x.shape[0], :] = 0
        if self.config.wide:
            return x
        return x * self.scale

    def load(self, state):
        return state, parallel_state.get_tensor_model_parallel_rank()


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        dist.all_reduce(x)
        return x


settings = [
    NeuronConfig(tp_degree=2, tensor_capture_config=object()),
    MoENeuronConfig(tp_degree=2, early_expert_affinity_modulation=True),
    NeuronConfig(tensor_capture_config=object(), on_device_sampling_config=object()),
    NeuronConfig(tensor_capture_config=object(), **{}),
]
