"""Lines of the Neuron driver: whose failure each is, and ordinary ones that are not failures."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modelmedic.engine.diagnosis.report import Report

ORDINARY = (
    "neuron:mpset_constructor: reserved 4194304 bytes of host memory",
    "neuron:nmetric_thread_fn: Starting metrics thread, sample_delay_in_jiffies is 250",
    "neuron:nr_reset_thread_fn: nd3: initiating device reset request 4711",
    "neuron:nr_reset_thread_fn: nd3: reset request 4711 completed",
    "neuron:ncdev_hbm_scrub_start: Scrubbing nd4 HBM 1",
    "neuron:ncrwl_writer_enter: nd0nc1: pid:4711 - writer retrying(2/9) readers:1 writer:0",
    "neuron:npe_primary_device_do_election: nd00: ultraserver election starting",
    "neuron:npe_primary_device_do_election: nd00: ultraserver election - all secondary links good",
    "neuron:udma_init: udma3 initialized. base m2s: 00000000a1, s2m: 00000000b1",
    "Installing neuron power sysfs node",
)
# One failure each of a process, a device, the host, the metrics, and none.
WHOSE = {
    "neuron:ncdev_mem_copy: src offset+size is too large for mem handle": "driver-bounds",
    "neuron:ncdev_mem_copy_async_wait: dma memcpy wait failed. invalid mem chunk handle": (
        "driver-handle-freed"
    ),
    "neuron:ncdev_mem_copy_async_wait: dma memcpy wait failed: -110": "driver-dma",
    "neuron:ncdev_mem_copy_async_wait: dma memcpy wait failed: -22": "driver-request",
    "neuron:udma_m2m_init_queue: failed to init s2m queue 5, err: -22": "driver-request",
    "neuron:udma_m2m_init_queue: failed to init s2m queue 5, err: -5": "driver-request",
    "neuron:udma_m2m_init_queue: failed to init s2m queue 5, err: -12": "driver-host-memory",
    "neuron:neuron_ds_init: nds allocation failure for nd[11]": "driver-host-memory",
    "failed to create the device_mem node under neuron_core3": "driver-metrics-tree",
    "neuron:npe_pod_ctrl: Invalid ultraserver control request value 7": "driver-api-mismatch",
    "neuron:npe_pod_ctrl: trying to override exiting mode setting 1 with mode setting 4": (
        "ultraserver-mode-held"
    ),
    "received invalid notify delay for sysfs metrics: 5": "driver-setting-refused",
    "ndmabuf_unmap: Must attach() before unmap()": "driver-stopped",
    "ndmabuf_map: Must attach() before map()": "driver-registration",
    "failed to allocate hbm carveout region: ret=-12": "driver-module-option",
}


@pytest.mark.parametrize("line", ORDINARY)
def test_ordinary_lines_are_no_failure(decode: Callable[[str], Report], line: str) -> None:
    report = decode(f"[ 5021.105295] {line}")
    assert not [each.id for each in report.diagnoses]


@pytest.mark.parametrize("line", WHOSE)
def test_each_failure_is_given_to_its_owner(decode: Callable[[str], Report], line: str) -> None:
    report = decode(f"[ 5021.105295] {line}")
    assert [each.id for each in report.diagnoses] == [f"neuron.runtime.{WHOSE[line]}"]


def test_a_line_of_another_release_is_read_by_its_function(
    decode: Callable[[str], Report],
) -> None:
    report = decode("[ 5021.105295] neuron:mpset_more: cannot go on with part 7")
    found = [(each.id, each.confidence) for each in report.diagnoses]
    assert found == [("neuron.runtime.driver-memory", "possible")]
