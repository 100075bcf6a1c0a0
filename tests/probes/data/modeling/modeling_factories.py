# expect: divergence rmsnorm factory_function ToyRMSNorm CustomRMSNorm 30
# expect: divergence layernorm factory_function FallbackNorm CustomRMSNorm 43
# expect: divergence mlp factory_function ToyMLP DeviceMLP 51
# expect: divergence attention factory_function nn.MultiheadAttention DeviceAttention 56
# expect: divergence router factory_function ToyRouter DeviceRouter 63
# expect: divergence experts factory_function ToyExperts DeviceExperts 70
# expect: divergence act factory_function nn.GELU nn.SiLU 75
# expect: pattern functional-activation 75
"""Factories. In this text: return DocNorm if cpu_mode() else DocGhost."""
import os

from neuronx_distributed.parallel_layers import parallel_state
from neuronx_distributed.utils import cpu_mode
from neuronx_distributed_inference.modules.custom_calls import CustomRMSNorm
from torch import nn

from .device import DeviceAttention, DeviceExperts, DeviceMLP, DeviceRouter
from .toy import ToyExperts, ToyMLP, ToyRMSNorm, ToyRouter

SETTINGS = {"norm": "GhostNorm if cpu_mode() else OtherGhost"}


def get_rmsnorm_cls():
    """
    CustomRMSNorm on the device.
    ToyRMSNorm on the CPU (CommentNorm is neither).
    """
    # return CommentRMSNorm if cpu_mode() else GhostNorm
    # In 1-line form:
    return ToyRMSNorm if cpu_mode() else CustomRMSNorm


def get_layernorm_cls():
    if cpu_mode():

        class FallbackNorm(nn.Module):
            def forward(self, x):
                x = x.float()
                return x / x.pow(2).mean(-1, keepdim=True).sqrt()


        # Used on the CPU alone.
        return FallbackNorm
    return CustomRMSNorm


def get_mlp_cls():
    if not cpu_mode():
        return DeviceMLP
    else:
        return ToyMLP


def make_attention_cls():
    # Written for the device, and turned round.
    return DeviceAttention if parallel_state.model_parallel_is_initialized() else nn.MultiheadAttention


def get_router_cls(config):
    on_device = not config.neuron_config.on_cpu
    if config.deep:
        if on_device: return DeviceRouter
        return ToyRouter
    return ToyRouter


class Layer(nn.Module):
    def _experts_cls(self):
        if os.environ.get("NXD_CPU_MODE", "0") == "1":
            return ToyExperts
        return DeviceExperts


def build_act_module():
    return nn.GELU() if os.getenv("NXD_CPU_MODE") else nn.SiLU()


def get_plain_cls(config):
    # No condition on the CPU: no divergence.
    return ToyMLP if config.wide else DeviceMLP


def get_same_cls():
    return ToyMLP if cpu_mode() else ToyMLP


def get_name():
    # Neither of these is a class.
    return ghost_norm if cpu_mode() else other_norm
