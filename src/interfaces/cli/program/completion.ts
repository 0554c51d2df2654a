import { RelayError } from '../../../base/errors.ts';
import { defineCommand } from '../command.ts';
import { commandTree } from './command-tree.ts';
import { SHELLS } from './shells.ts';

export default defineCommand({
  usage: 'bash|zsh|fish',
  takes: { min: 1 },
  examples: [
    ['source <(relay completion bash)', 'for this bash session; put it into ~/.bashrc to keep it'],
    ['relay completion zsh > ~/.zfunc/_relay', 'for zsh, with ~/.zfunc in fpath'],
    ['relay completion fish > ~/.config/fish/completions/relay.fish', 'for fish'],
  ],
  async run({ io, args }) {
    const shell = args[0]!;
    if (!Object.hasOwn(SHELLS, shell)) {
      throw new RelayError('bad_usage', {
        what: `There is no completion for "${shell}".`,
        hint: `Choose one of: ${Object.keys(SHELLS).join(', ')}.`,
      });
    }
    const script = SHELLS[shell]!(await commandTree());
    io.result({ shell, script }, script);
  },
});
