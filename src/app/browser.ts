import { spawn } from 'node:child_process';

/** Has the system show a page; false where there is no screen, or nothing to show it with. The address is no part of a command line that a shell reads. */
export function openBrowser(
  url: string,
  env: NodeJS.ProcessEnv,
  platform = process.platform,
): Promise<boolean> {
  const screen = platform === 'darwin' || platform === 'win32' || env.DISPLAY || env.WAYLAND_DISPLAY;
  if (!screen) return Promise.resolve(false);
  const [command, ...args] =
    platform === 'darwin'
      ? ['open', url]
      : platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler', url]
        : ['xdg-open', url];
  return new Promise((resolve) => {
    const child = spawn(command!, args, { detached: true, stdio: 'ignore' });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
