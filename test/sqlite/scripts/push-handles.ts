/** Pushes pairs, alternately sequentially and concurrently. Prints the handle and the id of each pointer. */
import { ownTextWork } from '../../../src/app/store/own-text-work.ts';
import { systemEnv } from '../../../src/base/env.ts';
import { LOCAL_CALLER } from '../../../src/contract/caller.ts';
import { RelayCore } from '../../../src/domain/relay-core.ts';
import { openSqlite } from '../../../src/engines/sqlite/engine.ts';
import { options, print } from './script-io.ts';

const { home, rounds } = options<{ home: string; rounds: number }>();
const engine = await openSqlite({ home });
const core = new RelayCore({ engine, env: systemEnv, texts: ownTextWork });
const { pointers } = core.relay(LOCAL_CALLER, 'http://relay.test');
const push = async () => {
  const { handle, id } = await pointers.push({ body: new Uint8Array(10) });
  return [handle, id];
};
const handles = [];
for (let i = 0; i < rounds; i++) {
  if (i % 2 === 0) handles.push(await push(), await push());
  else handles.push(...(await Promise.all([push(), push()])));
}
print(handles);
await core.close();
