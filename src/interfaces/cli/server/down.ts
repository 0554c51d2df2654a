import { RelayError } from '../../../base/errors.ts';
import { defineCommand } from '../command.ts';

export default defineCommand({
  details: 'What it has accepted is still answered. That none runs is no error.',
  flags: { force: { help: 'end it at once if it does not stop by itself' } },
  examples: [
    ['relay down', 'stop the server of this home'],
    ['relay down --force', 'also when it hangs'],
  ],
  async run({ io, host, flags }) {
    const running = host.server.running();
    if (running === null) {
      io.result({ stopped: false, running: false }, `no relay runs on ${host.home}`);
      return;
    }
    if (!(await host.server.stop(running, { force: flags.force === true }))) {
      throw new RelayError('failed', {
        what: `The relay with pid ${running.pid} has not stopped within 15 seconds.`,
        hint: 'End it with: relay down --force',
      });
    }
    io.result(
      { stopped: true, pid: running.pid, url: running.url },
      `stopped ${running.url} (pid ${running.pid})`,
    );
  },
});
