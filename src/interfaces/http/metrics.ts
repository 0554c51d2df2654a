/** Seconds; from a peek to a slow upload. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

interface Seen {
  readonly statuses: Map<number, number>;
  readonly buckets: number[];
  sum: number;
  count: number;
}

/** Requests by operation and status, and how long they took, in the words of Prometheus. No label comes from a client. */
export class Metrics {
  readonly #operations = new Map<string, Seen>();

  record(operation: string, status: number, ms: number): void {
    let seen = this.#operations.get(operation);
    if (!seen) {
      seen = { statuses: new Map(), buckets: BUCKETS.map(() => 0), sum: 0, count: 0 };
      this.#operations.set(operation, seen);
    }
    seen.statuses.set(status, (seen.statuses.get(status) ?? 0) + 1);
    const seconds = ms / 1000;
    const at = BUCKETS.findIndex((limit) => seconds <= limit);
    if (at >= 0) seen.buckets[at]!++;
    seen.sum += seconds;
    seen.count++;
  }

  render(gauges: readonly Gauge[]): string {
    const lines: string[] = [];
    const begin = (name: string, type: string, help: string) =>
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    begin('relay_http_requests_total', 'counter', 'Requests answered, by operation and status.');
    for (const [operation, { statuses }] of this.#operations) {
      for (const [status, count] of statuses) {
        lines.push(`relay_http_requests_total{operation="${operation}",status="${status}"} ${count}`);
      }
    }
    const name = 'relay_http_request_duration_seconds';
    begin(name, 'histogram', 'From the head of a request to the head of its answer.');
    for (const [operation, { buckets, sum, count }] of this.#operations) {
      let below = 0;
      for (const [at, limit] of BUCKETS.entries()) {
        below += buckets[at]!;
        lines.push(`${name}_bucket{operation="${operation}",le="${limit}"} ${below}`);
      }
      lines.push(`${name}_bucket{operation="${operation}",le="+Inf"} ${count}`);
      lines.push(`${name}_sum{operation="${operation}"} ${Number(sum.toFixed(6))}`);
      lines.push(`${name}_count{operation="${operation}"} ${count}`);
    }
    for (const [name, help, value] of gauges) {
      begin(name, 'gauge', help);
      lines.push(`${name} ${value}`);
    }
    return `${lines.join('\n')}\n`;
  }
}

export type Gauge = readonly [name: string, help: string, value: number];
