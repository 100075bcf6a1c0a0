# expect: divergence Attention kernel_call - - 26
# expect: divergence norm nki_kernel - CustomRMSNorm 32
# expect: divergence Mixer kernel_call - - 37
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
from neuronx_distributed.utils import cpu_mode
from neuronx_distributed_inference.modules.custom_calls import CustomRMSNorm
from neuronxcc.nki._private_kernels.attention import attention_isa_kernel
from neuronxcc.nki.language import nc
from torch import nn
from torch_neuronx.xla_impl.ops import nki_jit

_flash_call = nki_jit()(attention_isa_kernel)


@nki.jit
def mixed(x):
    return nl.add(x, x)


class Attention(nn.Module):
    def forward(self, q):
        if cpu_mode():
            return q
        grid = (nc(2),)
        _flash_call[grid](q, kernel_name="AttentionMMSoftmaxMMWithoutSwap")
        return q


class Layer(nn.Module):
    def __init__(self):
        self.norm = CustomRMSNorm(8)


class Mixer(nn.Module):
    def forward(self, x):
        return mixed(x)


class OnCpu(nn.Module):
    def forward(self, x):
        return mixed(x) if cpu_mode() else x
