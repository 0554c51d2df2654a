import { after, before } from 'node:test';
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import {
  type CheckpointSaverTestInitializer,
  deltaChannelHistoryTests,
  validate,
} from '@langchain/langgraph-checkpoint-validation';
import { JestAsymmetricMatchers, JestChaiExpect, JestExtend } from '@vitest/expect';
import * as chai from 'chai';
import { provideJestGlobals } from '../../../test/integrations/jest-globals.ts';
import { embedded, type Scene, startScene } from '../../../test/integrations/scene.ts';
import { ContextRelaySaver } from './index.ts';

/** LangGraph's complete test suite for savers, including the optional part about channels stored as changes. */
chai.use(JestExtend).use(JestChaiExpect).use(JestAsymmetricMatchers);
provideJestGlobals(Object.assign(chai.expect, { soft: chai.expect }));

let scene: Scene;
let spaces = 0;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

for (const way of ['embedded', 'over HTTP'] as const) {
  const initializer: CheckpointSaverTestInitializer<BaseCheckpointSaver> = {
    checkpointerName: `contextrelay/langgraph, ${way}`,
    createCheckpointer() {
      const relay = way === 'embedded' ? embedded(scene.server) : scene.relay;
      return new ContextRelaySaver(relay, { space: `checkpoints-${++spaces}` });
    },
  };
  validate(initializer);
  deltaChannelHistoryTests(initializer);
}
