import { runConformance } from '../../../test/conformance/run.ts';
import { openMemory } from './engine.ts';

for (const gaps of [true, false]) {
  runConformance(`memory ${gaps ? 'with' : 'without'} gaps`, async (env) => {
    const engine = openMemory({ env, gaps });
    return {
      engine,
      damage: async (key, offset) => engine.damage(key, offset),
      close: () => engine[Symbol.asyncDispose](),
    };
  });
}
