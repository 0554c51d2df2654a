import { execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A network of machines. Each machine is a network namespace with its own address and can be cut off. */
export interface Network extends AsyncDisposable {
  readonly machines: readonly Machine[];
}

export interface Machine {
  readonly address: string;
  /** Command prefix that runs a command on this machine. */
  readonly prefix: readonly string[];
  /** Drops all packets from and to the machine. */
  cut(): Promise<void>;
  join(): Promise<void>;
}

/**
 * Creates machines and connects them with this machine by a bridge. Needs root and iproute2. Returns the reason if the
 * network cannot be created.
 */
export async function makeNetwork(count: number): Promise<Network | { missing: string }> {
  const id = `rn${randomBytes(3).toString('hex')}`;
  const net = `10.${200 + (randomBytes(1)[0]! % 50)}.${randomBytes(1)[0]}`;
  const space = (i: number) => `${id}-${i}`;
  const remove = () => {
    for (let i = 1; i <= count; i++) quietly(['netns', 'del', space(i)]);
    quietly(['link', 'del', id]);
  };
  try {
    await ip(`link add ${id} type bridge`);
    await ip(`addr add ${net}.254/24 dev ${id}`);
    await ip(`link set ${id} up`);
    for (let i = 1; i <= count; i++) {
      await ip(`netns add ${space(i)}`);
      await ip(`link add ${id}-${i} type veth peer name eth0 netns ${space(i)}`);
      await ip(`link set ${id}-${i} master ${id} up`);
      await ip(`-n ${space(i)} addr add ${net}.${i}/24 dev eth0`);
      await ip(`-n ${space(i)} link set eth0 up`);
      await ip(`-n ${space(i)} link set lo up`);
    }
  } catch (error) {
    remove();
    return { missing: `no network namespaces here: ${(error as Error).message.trim().split('\n').at(-1)}` };
  }
  process.once('exit', remove);
  const machines = Array.from({ length: count }, (_, at): Machine => {
    const i = at + 1;
    return {
      address: `${net}.${i}`,
      prefix: ['ip', 'netns', 'exec', space(i)],
      cut: () => ip(`link set ${id}-${i} down`),
      join: () => ip(`link set ${id}-${i} up`),
    };
  });
  return {
    machines,
    async [Symbol.asyncDispose]() {
      process.off('exit', remove);
      remove();
    },
  };
}

async function ip(command: string): Promise<void> {
  await run('ip', command.split(' '));
}

function quietly(args: string[]): void {
  try {
    execFileSync('ip', args, { stdio: 'ignore' });
  } catch {
    // The command fails if there is nothing to delete.
  }
}
