import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const EXECUTABLES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const executable = EXECUTABLES.find((path) => existsSync(path));

/** Reason to skip tests with a browser, or false. For `test(name, { skip: noBrowser }, …)`. */
export const noBrowser: string | false = executable ? false : 'there is no Chromium on this machine';

/** Starts a real browser without background requests of its own. */
export function openBrowser(...more: string[]): Promise<Browser> {
  return chromium.launch({
    executablePath: executable!,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...more,
    ],
  });
}
