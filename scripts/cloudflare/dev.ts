import { parseArgs } from 'node:util';
import { writePages } from './bundle.ts';
import { startWorker } from './local-worker.ts';

const { values } = parseArgs({
  options: { port: { type: 'string', default: '8787' }, keys: { type: 'boolean' }, home: { type: 'string' } },
});
const pages = await writePages();
const worker = await startWorker({ port: Number(values.port), open: !values.keys, home: values.home, pages });
console.log(`listening on ${worker.url}, its pages at ${worker.url}/ui`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void worker.stop());
