import { hookBench } from '../hooks.ts';

export default hookBench('session-start');
