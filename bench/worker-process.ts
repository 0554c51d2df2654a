/** A Worker in a workerd of its own: worker-process.ts <folder> [the file of the Worker; the relay by default]. */
import { startWorker } from '../scripts/cloudflare/local-worker.ts';

const [home, entry] = process.argv.slice(2);
const worker = await startWorker({ home, entry });
console.log(`listening on ${worker.url}`);
process.once('SIGTERM', () => void worker.stop());
