import { testVolume } from './volume.ts';

testVolume({ versions: 10_000, artifacts: 5_000, pointers: 100_000, scrolled: 6_000, messages: 5_000 });
