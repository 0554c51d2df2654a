import { A2AError, RequestMalformedError } from '@a2a-js/sdk/errors';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { isRelayError } from '../../base/errors.ts';

const STREAMS = ['sendMessageStream', 'resubscribe'];

/** The agent, with errors of ours in the words of the protocol, and accidents logged instead of shown. */
export function speakingA2A(agent: A2ARequestHandler, onError: (error: unknown) => void): A2ARequestHandler {
  const told = (error: unknown) => translate(error, onError);
  return new Proxy(agent, {
    get(target, name) {
      const method = Reflect.get(target, name) as unknown;
      if (typeof method !== 'function') return method;
      if (STREAMS.includes(String(name))) {
        return async function* (...args: unknown[]) {
          try {
            yield* method.apply(target, args);
          } catch (error) {
            throw told(error);
          }
        };
      }
      return async (...args: unknown[]) => {
        try {
          return await method.apply(target, args);
        } catch (error) {
          throw told(error);
        }
      };
    },
  });
}

function translate(error: unknown, onError: (error: unknown) => void): unknown {
  if (error instanceof A2AError) return error;
  if (isRelayError(error) && error.status < 500)
    return new RequestMalformedError(`${error.message} ${error.hint}`);
  onError(error);
  return new Error('The relay failed. Its log says why.');
}
