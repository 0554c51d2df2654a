import { hookBench } from '../hooks.ts';

export default hookBench('prompt-submit');
