/**
 * `npm start`: the built command line, but one that stops when npm is stopped. npm passes a signal on to the shell it
 * started, and many a shell dies of it without a word to the server, which would go on and hold the port.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const relay = new URL('../dist/cli/relay.js', import.meta.url);
// Whatever starts this program once more, such as `up --detach`, shall start the real one.
process.argv[1] = fileURLToPath(relay);
// What it prints for people to type must work from here.
process.env.RELAY_COMMAND ??= './relay';

const parent = process.ppid;
const watch = setInterval(() => {
  if (process.ppid === parent) return;
  clearInterval(watch);
  process.kill(process.pid, 'SIGTERM');
}, 250);
watch.unref();

// `./relay` in another terminal then starts like a native program. A build that is not needed does nothing.
if (process.env.RELAY_RUNTIME !== 'node') {
  const build = fileURLToPath(new URL('./build-executable.ts', import.meta.url));
  spawn(process.execPath, [build, '--if-old'], { detached: true, stdio: 'ignore' }).unref();
}

await import(relay);
