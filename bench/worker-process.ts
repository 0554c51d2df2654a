/** Runs a Worker in its own workerd: worker-process.ts <folder> [entry file of the Worker, by default the relay's]. */
import { startWorker } from '../scripts/cloudflare/local-worker.ts';

const [home, entry] = process.argv.slice(2);
const worker = await startWorker({ home, entry });
console.log(`listening on ${worker.url}`);
process.once('SIGTERM', () => void worker.stop());
