import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { until } from '../until.ts';

const EXECUTABLES = ['/usr/bin/firefox-esr', '/usr/bin/firefox'];
const executable = EXECUTABLES.find((path) => existsSync(path));

/** Reason to skip tests with Firefox, or false. */
export const noFirefox: string | false = executable ? false : 'there is no Firefox on this machine';

// These settings stop Firefox's own requests, so every request comes from the page.
const SETTINGS = {
  'app.update.auto': false,
  'browser.shell.checkDefaultBrowser': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'remote.prefs.recommended': true,
  'toolkit.telemetry.enabled': false,
};

/** One tab of a real Firefox, controlled over WebDriver BiDi, which Firefox supports natively. */
export class Firefox implements AsyncDisposable {
  /** Console errors and warnings, and requests to hosts other than `url`. */
  readonly problems: string[] = [];
  readonly #url: string;
  readonly #process: ChildProcess;
  readonly #profile: string;
  readonly #answers = new Map<number, { done(value: never): void; fail(error: Error): void }>();
  #socket!: WebSocket;
  #tab = '';
  #lastId = 0;

  /** Starts Firefox. `url` is the address of the relay under test. */
  static async open(url: string): Promise<Firefox> {
    const firefox = new Firefox(url);
    try {
      await firefox.#connect();
      return firefox;
    } catch (error) {
      await firefox[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(url: string) {
    this.#url = url;
    this.#profile = mkdtempSync(join(tmpdir(), 'relay-firefox-'));
    const lines = Object.entries(SETTINGS).map(
      ([name, value]) => `user_pref(${JSON.stringify(name)}, ${value});`,
    );
    writeFileSync(join(this.#profile, 'user.js'), lines.join('\n'));
    const args = ['--headless', '--no-remote', '--profile', this.#profile, '--remote-debugging-port', '0'];
    this.#process = spawn(executable!, args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      // A separate home, so that Firefox leaves no files in the home of the user.
      env: { ...process.env, HOME: this.#profile, MOZ_CRASHREPORTER_DISABLE: '1' },
    });
  }

  async goto(path: string): Promise<void> {
    await this.#ask('browsingContext.navigate', {
      context: this.#tab,
      url: this.#url + path,
      wait: 'complete',
    });
  }

  /** Evaluates an expression in the page. Returns a string, number, boolean or null. */
  async evaluate(expression: string): Promise<unknown> {
    const answer = await this.#ask<{
      result?: { value?: unknown };
      exceptionDetails?: { text: string };
    }>('script.evaluate', { expression, awaitPromise: true, target: { context: this.#tab } });
    if (answer.exceptionDetails) throw new Error(answer.exceptionDetails.text);
    return answer.result?.value ?? null;
  }

  /** Waits until the page shows a text. */
  async sees(text: string): Promise<void> {
    await until(
      async () => (await this.evaluate(`document.body.innerText.includes(${JSON.stringify(text)})`)) === true,
      { everyMs: 50, what: `"${text}" on the page` },
    );
  }

  /** Waits for the link, button or tab with this text and clicks it. */
  async click(text: string): Promise<void> {
    const find = `[...document.querySelectorAll('a, button, [role="tab"]')].find((one) => one.innerText.trim() === ${JSON.stringify(text)})`;
    await until(async () => (await this.evaluate(`(${find})?.click() === undefined && !!${find}`)) === true, {
      everyMs: 50,
      what: `"${text}" on the page`,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket?.terminate();
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      this.#process.kill('SIGKILL');
      await new Promise((resolve) => this.#process.once('close', resolve));
    }
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }

  async #connect(): Promise<void> {
    const address = await new Promise<string>((done, fail) => {
      let output = '';
      this.#process.stderr!.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-10_000);
        const listening = /WebDriver BiDi listening on (ws:\/\/\S+)/.exec(output)?.[1];
        if (listening) done(listening);
      });
      this.#process.once('error', fail);
      this.#process.once('close', () => fail(new Error(`Firefox has ended: ${output}`)));
    });
    this.#socket = new WebSocket(`${address}/session`);
    await new Promise((done, fail) => this.#socket.once('open', done).once('error', fail));
    this.#socket.on('message', (data) => this.#take(JSON.parse(String(data))));
    await this.#ask('session.new', { capabilities: {} });
    await this.#ask('session.subscribe', { events: ['log.entryAdded', 'network.beforeRequestSent'] });
    const { context } = await this.#ask<{ context: string }>('browsingContext.create', { type: 'tab' });
    this.#tab = context;
  }

  #ask<T = unknown>(method: string, params: object): Promise<T> {
    const id = ++this.#lastId;
    return new Promise<T>((done, fail) => {
      this.#answers.set(id, { done, fail });
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }

  #take(message: BidiMessage): void {
    if (message.type !== 'event') {
      const waiting = this.#answers.get(message.id!);
      this.#answers.delete(message.id!);
      if (message.type === 'error') waiting?.fail(new Error(`${message.error}: ${message.message}`));
      else waiting?.done(message.result as never);
      return;
    }
    const { level, text, request, context, source } = message.params!;
    if ((context ?? source?.context) !== this.#tab) return;
    if (level === 'error' || level === 'warn') this.problems.push(String(text));
    const url = request?.url ?? '';
    if (url !== '' && !/^(?:data|blob|about):/.test(url) && !url.startsWith(`${this.#url}/`))
      this.problems.push(`asked ${url}`);
  }
}

interface BidiMessage {
  readonly type: 'success' | 'error' | 'event';
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: string;
  readonly message?: string;
  readonly params?: {
    readonly level?: string;
    readonly text?: string;
    readonly context?: string | null;
    readonly source?: { readonly context?: string };
    readonly request?: { readonly url: string };
  };
}
