// relay.js loads this file if the `node:sqlite` of this Node is missing or too old. If the package
// contextrelay-runtime is installed, this file starts the program on the Node 26 of that package. Otherwise
// it adds the JavaScript functions that the program calls and this Node lacks.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/**
 * If another Node is installed, starts the command on that Node and returns true. The caller must then not run the
 * command again. If no other Node is installed, adds the missing functions to this Node and returns false. Exits if
 * this Node is too old.
 */
export async function handedOver() {
  const node = await findNode();
  if (node) {
    run(node);
    return true;
  }
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 16))
    fail(
      `it needs Node 20.16 or newer, and this is ${process.version}. Install Node 26 from https://nodejs.org.`,
    );
  fillGaps();
  return false;
}

async function findNode() {
  try {
    return (await import('contextrelay-runtime')).findNode();
  } catch {
    return undefined;
  }
}

function run(node) {
  // Start relay.js, not argv[1]: `contextrelay-mcp` has already added `mcp` to the arguments and would add it again.
  const relay = fileURLToPath(new URL('./relay.js', import.meta.url));
  const child = spawn(node, [relay, ...process.argv.slice(2)], { stdio: 'inherit' });
  // A terminal sends these signals to both processes. A service manager sends them only to this process, so
  // they are passed on.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.once('error', (error) => fail(`cannot run ${node}: ${error.message}`));
  child.once('exit', (code, signal) => {
    if (!signal) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/**
 * Adds the JavaScript functions that Node 20 lacks and the program calls. `npm run test:full` runs the command line's
 * tests on Node 20.
 */
function fillGaps() {
  Promise.withResolvers ??= function withResolvers() {
    const made = {};
    made.promise = new this((resolve, reject) => Object.assign(made, { resolve, reject }));
    return made;
  };
  Map.groupBy ??= (items, keyOf) => {
    const groups = new Map();
    let index = 0;
    for (const item of items) {
      const key = keyOf(item, index++);
      if (groups.has(key)) groups.get(key).push(item);
      else groups.set(key, [item]);
    }
    return groups;
  };
  Array.fromAsync ??= async (items, map = (item) => item) => {
    const made = [];
    for await (const item of items) made.push(await map(item, made.length));
    return made;
  };
}

function fail(why) {
  console.error(`relay: ${why}`);
  process.exit(1);
}
