import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TaskPushNotificationConfig } from '@a2a-js/sdk';

export interface ReceivedRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Receiver extends AsyncDisposable {
  readonly url: string;
  /** Requests that the receiver accepted. */
  readonly received: ReceivedRequest[];
  /** Resolves when an accepted request contains this text. */
  until(text: string): Promise<void>;
}

/** Starts a webhook receiver. It rejects the first `refusing` requests. */
export async function receiver({ refusing = 0 } = {}): Promise<Receiver> {
  const received: ReceivedRequest[] = [];
  let wake = () => {};
  let refused = 0;
  const server = createServer(async (request, answer) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    if (refused++ < refusing) {
      answer.writeHead(503).end();
      return;
    }
    received.push({ headers: request.headers, body });
    answer.end();
    wake();
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    until: async (text) => {
      while (!received.some(({ body }) => body.includes(text))) {
        await new Promise<void>((next) => {
          wake = next;
        });
      }
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

export function webhookAt(url: string): TaskPushNotificationConfig {
  return { tenant: '', id: '', taskId: '', url, token: '', authentication: undefined };
}
