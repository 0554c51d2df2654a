import { performance } from 'node:perf_hooks';
import type { Gauge } from '../../interfaces/http/metrics.ts';

let before = performance.eventLoopUtilization();

/** What the process tells about itself. The utilisation is since the last time it was asked for. */
export function processGauges(connections: number): Gauge[] {
  const { rss, heapUsed } = process.memoryUsage();
  const now = performance.eventLoopUtilization();
  const { utilization } = performance.eventLoopUtilization(now, before);
  before = now;
  return [
    { name: 'relay_connections', help: 'Open connections.', value: connections },
    { name: 'process_resident_memory_bytes', help: 'Memory of the process.', value: rss },
    { name: 'nodejs_heap_size_used_bytes', help: 'Of that, the heap in use.', value: heapUsed },
    {
      name: 'relay_event_loop_utilization',
      help: 'How busy the event loop was since the last look, 0 to 1.',
      value: Number(utilization.toFixed(4)),
    },
    { name: 'relay_uptime_seconds', help: 'Since the start.', value: Math.round(process.uptime()) },
  ];
}
