import { channels } from '../contract/channels.ts';
import { HttpClient, type HttpOptions } from './http-client.ts';
import { followSocket, type SocketOptions } from './socket-follower.ts';
import { type HandMade, VerbCalls } from './verb-calls.ts';

/** Messages come over a WebSocket, which stays open. */
export function httpChannels(
  calls: VerbCalls,
  options: HttpOptions & Pick<SocketOptions, 'onConnection'>,
): HandMade<typeof channels> {
  return {
    subscribe(channel, o = {}) {
      // It outlives any one answer: neither the time limit nor the retries of a call are for it.
      const lasting = new VerbCalls(new HttpClient({ ...options, retries: 0, signal: o.signal }));
      return followSocket({
        ...o,
        base: lasting.client.base,
        channel,
        reached: calls.client.answered,
        onConnection: options.onConnection,
        position: () => calls.call<number>(channels.position, { name: channel }),
        probe: (path) => lasting.probe(path, 'subscribe'),
        ticket: async () => {
          if (!options.apiKey) return null;
          return (await lasting.call<{ ticket: string }>(channels.ticket, {})).ticket;
        },
      });
    },
  };
}
