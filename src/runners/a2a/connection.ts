import type { AgentCard } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { RelayError } from '../../base/errors.ts';

export interface A2AConnection {
  readonly client: Client;
  readonly card: AgentCard;
  /** Sends the token to the agent's own origin and to no other. */
  readonly fetch: typeof fetch;
}

/** Reaches an agent by the address of its card, of its folder or of its host. Older agents are understood as well. */
export async function connectA2A(address: string, token?: string): Promise<A2AConnection> {
  const { base, path } = cardAddress(address);
  const send = tokenFetch(new URL(base).origin, token);
  const options = { fetchImpl: send, legacyCompat: { enabled: true } };
  const cardResolver = new DefaultAgentCardResolver(options);
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory(options), new RestTransportFactory(options)],
    cardResolver,
  });
  try {
    const card = await cardResolver.resolve(base, path);
    return { client: await factory.createFromAgentCard(card), card, fetch: send };
  } catch (error) {
    throw new RelayError('agent_unreachable', { url: address, what: (error as Error).message }, error);
  }
}

/** `https://host`, `https://host/a2a/name` or the card itself. */
function cardAddress(address: string): { base: string; path: string | undefined } {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new RelayError('bad_usage', {
      what: `"${address}" is no address of an agent.`,
      hint: 'It begins with http:// or https://, such as https://relay.example/a2a/reviewer',
    });
  if (/\.json$/.test(url.pathname)) return { base: url.origin, path: url.pathname };
  return { base: `${url.origin}${url.pathname.replace(/\/*$/, '/')}`, path: undefined };
}

function tokenFetch(origin: string, token: string | undefined): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const own = new URL(request.url).origin === origin;
    if (own && token) request.headers.set('Authorization', `Bearer ${token}`);
    // A redirect could lead the token elsewhere.
    return fetch(request, { redirect: own && token ? 'error' : 'follow' });
  };
}
