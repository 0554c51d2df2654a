/** Seconds; from a peek to a slow upload. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Requests by operation and status, and how long they took, in the words of Prometheus. No label comes from a client. */
export class Metrics {
  readonly #requests = new Map<string, Map<number, number>>();
  readonly #durations = new Map<string, { buckets: number[]; sum: number; count: number }>();

  record(operation: string, status: number, ms: number): void {
    let statuses = this.#requests.get(operation);
    if (!statuses) {
      statuses = new Map();
      this.#requests.set(operation, statuses);
    }
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    let durations = this.#durations.get(operation);
    if (!durations) {
      durations = { buckets: BUCKETS.map(() => 0), sum: 0, count: 0 };
      this.#durations.set(operation, durations);
    }
    const seconds = ms / 1000;
    const at = BUCKETS.findIndex((limit) => seconds <= limit);
    if (at >= 0) durations.buckets[at]!++;
    durations.sum += seconds;
    durations.count++;
  }

  render(gauges: readonly Gauge[] = []): string {
    const lines: string[] = [
      '# HELP relay_http_requests_total Requests answered, by operation and status.',
      '# TYPE relay_http_requests_total counter',
    ];
    for (const [operation, statuses] of this.#requests) {
      for (const [status, count] of statuses) {
        lines.push(`relay_http_requests_total{operation="${operation}",status="${status}"} ${count}`);
      }
    }
    const name = 'relay_http_request_duration_seconds';
    lines.push(
      `# HELP ${name} From the head of a request to the head of its answer.`,
      `# TYPE ${name} histogram`,
    );
    for (const [operation, { buckets, sum, count }] of this.#durations) {
      let below = 0;
      for (const [at, limit] of BUCKETS.entries()) {
        below += buckets[at]!;
        lines.push(`${name}_bucket{operation="${operation}",le="${limit}"} ${below}`);
      }
      lines.push(`${name}_bucket{operation="${operation}",le="+Inf"} ${count}`);
      lines.push(`${name}_sum{operation="${operation}"} ${Number(sum.toFixed(6))}`);
      lines.push(`${name}_count{operation="${operation}"} ${count}`);
    }
    for (const gauge of gauges) {
      lines.push(`# HELP ${gauge.name} ${gauge.help}`, `# TYPE ${gauge.name} gauge`);
      lines.push(`${gauge.name} ${gauge.value}`);
    }
    return `${lines.join('\n')}\n`;
  }
}

export interface Gauge {
  readonly name: string;
  readonly help: string;
  readonly value: number;
}
