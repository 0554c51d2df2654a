import type { Bench } from '../bench.ts';
import { memoryGrowth } from '../worker-growth.ts';
import { unmeasured } from '../workers.ts';

const BYTES = 25_000_000;
/** Memory limit of an isolate on Cloudflare. */
const BUDGET_MB = 128;

/** Memory that a payload of 25 MB adds to a Worker. The ratio is this memory divided by its budget. */
export default {
  name: 'worker-memory',
  claim: 'less than 128 MB above idle',
  limit: 1,
  async run() {
    const skipped = unmeasured();
    if (skipped) return skipped;
    const raw = await memoryGrowth('raw', BYTES);
    const json = await memoryGrowth('json', BYTES);
    const measured = Math.max(raw.push, raw.pull, json.push, json.pull);
    const each = ({ push, pull }: typeof raw) => `push ${Math.round(push)}, pull ${Math.round(pull)}`;
    const detail = `what 25 MB add to a new workerd at the most: ${each(raw)}, in JSON: ${each(json)}; budget: ${BUDGET_MB} MB`;
    return { measured, baseline: BUDGET_MB, unit: 'MB', ratio: measured / BUDGET_MB, detail };
  },
} satisfies Bench;
