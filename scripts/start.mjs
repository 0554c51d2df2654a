/**
 * `npm start`: runs the built command line, and stops it when npm is stopped. npm sends its signal only to the shell that
 * it started, and many shells exit without passing it on. So this script stops when its parent process changes.
 * Otherwise the server would keep running and occupy the port.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const relay = new URL('../dist/cli/relay.js', import.meta.url);
// Code that starts the program again, such as `up --detach`, must start relay.js and not this script.
process.argv[1] = fileURLToPath(relay);
// Commands that the program prints for users must work in this folder.
process.env.RELAY_COMMAND ??= './relay';

const parent = process.ppid;
const watch = setInterval(() => {
  if (process.ppid === parent) return;
  clearInterval(watch);
  process.kill(process.pid, 'SIGTERM');
}, 250);
watch.unref();

// Builds the executable in the background, so that `./relay` in another terminal starts faster. The build
// does nothing if the executable is up to date.
if (process.env.RELAY_RUNTIME !== 'node') {
  const build = fileURLToPath(new URL('./build-executable.ts', import.meta.url));
  spawn(process.execPath, [build, '--if-old'], { detached: true, stdio: 'ignore' }).unref();
}

await import(relay);
