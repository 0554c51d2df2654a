import {
  answerCommand,
  badUsage,
  type Flags,
  GLOBAL_FLAGS,
  type Group,
  isGroup,
  type Node,
} from '../command.ts';

const completion = answerCommand({
  omitsUrl: true,
  usage: 'bash|zsh|fish',
  takes: { min: 1 },
  examples: `
    source <(relay completion bash)  # enable in this bash session; add it to ~/.bashrc to keep it
    relay completion zsh > ~/.zfunc/_relay  # install for zsh, with ~/.zfunc in fpath
    relay completion fish > ~/.config/fish/completions/relay.fish  # install for fish`,
  async ask({ args, commands }) {
    const shell = args[0]!;
    if (!Object.hasOwn(SHELLS, shell))
      throw badUsage(
        `There is no completion for "${shell}".`,
        `Use one of: ${Object.keys(SHELLS).join(', ')}.`,
      );
    return { shell, script: SHELLS[shell]!(await commandTree(commands)) };
  },
  print: ({ script }) => script,
});

/** A command or group as the completion scripts need it. */
interface TreeNode {
  /** Name without `relay`, such as `thread rm`. Empty for `relay` itself. */
  readonly path: string;
  /**
   * Words that can follow the path: subcommands, or fixed arguments such as the names of shells. Fixed
   * arguments have no summary.
   */
  readonly offers: readonly { readonly name: string; readonly summary?: string }[];
  readonly flags: Flags;
}

/** Loads all commands and returns them with their flags. A group comes before its commands. */
export async function commandTree(root: Group): Promise<TreeNode[]> {
  const nodes: TreeNode[] = [];
  const visit = async (path: string, node: Node): Promise<void> => {
    if (!isGroup(node)) {
      const { flags, usage = '' } = await node.load();
      // A usage line such as `bash|zsh|fish` lists the only possible arguments, so they can be completed.
      // Placeholders such as `[file|-]` and `<url>` cannot.
      const choices = /^[\w-]+(\|[\w-]+)+$/.test(usage) ? usage.split('|') : [];
      const offers = choices.map((name) => ({ name }));
      nodes.push({ path, offers, flags: { ...GLOBAL_FLAGS, ...flags } });
      return;
    }
    const visible = Object.entries(node.commands).filter(([, { hidden }]) => !hidden);
    const offers = visible.map(([name, { summary }]) => ({ name, summary }));
    nodes.push({ path, offers, flags: GLOBAL_FLAGS });
    for (const [name, child] of visible) await visit(`${path} ${name}`.trim(), child);
  };
  await visit('', root);
  return nodes;
}

/**
 * Generates the completion script of each shell. The script finds the command in the words before the cursor
 * and offers the words that can follow.
 */
const SHELLS: { readonly [shell: string]: (tree: readonly TreeNode[]) => string } = { bash, zsh, fish };

function bash(tree: readonly TreeNode[]): string {
  const cases = tree.map(({ path, offers, flags }) => {
    const names = offers.map(({ name }) => name).join(' ');
    const options = Object.keys(flags).map((name) => `--${name}`);
    return `    ${quote(path)}) words=${quote(names)}; flags=${quote(options.join(' '))} ;;`;
  });
  return `# bash completion for relay; load it with: source <(relay completion bash)
_relay() {
  local cur=\${COMP_WORDS[COMP_CWORD]} path='' word words='' flags='' i skip=''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
${followWord(tree, 'path')}
  done
  COMPREPLY=()
  if [[ -n $skip ]]; then
    compopt -o default 2>/dev/null
    return
  fi
  case $path in
${cases.join('\n')}
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  else
    compopt -o default 2>/dev/null
  fi
}
complete -F _relay relay contextrelay
`;
}

/**
 * Returns shell code for bash and zsh: the body of a loop over the words before the cursor. It skips flags
 * and their values, and adds the names of commands to the path.
 */
function followWord(tree: readonly TreeNode[], path: string): string {
  return `    if [[ -n $skip ]]; then skip=''; continue; fi
    case $word in
      ${valueFlags(tree).join('|')}) skip=1; continue ;;
      -*) continue ;;
    esac
    case "\${${path}:+$${path} }$word" in
      ${commandPaths(tree).join('|')}) ${path}="\${${path}:+$${path} }$word" ;;
    esac`;
}

function zsh(tree: readonly TreeNode[]): string {
  const cases = tree.map(({ path, offers, flags }) => {
    const names = offers.map(({ name, summary }) => quote(summary ? `${name}:${summary}` : name));
    const options = Object.entries(flags).map(([name, { help }]) => quote(`--${name}:${help}`));
    return `    ${quote(path)}) words_=(${names.join(' ')}); flags_=(${options.join(' ')}) ;;`;
  });
  return `#compdef relay contextrelay
# zsh completion for relay
_relay() {
  local -a words_ flags_
  local path_='' word skip='' i
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
${followWord(tree, 'path_')}
  done
  if [[ -n $skip ]]; then
    _files
    return
  fi
  case $path_ in
${cases.join('\n')}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then
    _describe option flags_
  elif (( \${#words_} )); then
    _describe command words_
  else
    _files
  fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _relay "$@"
else
  compdef _relay relay contextrelay
fi
`;
}

function fish(tree: readonly TreeNode[]): string {
  const lines = tree.flatMap(({ path, offers, flags }) => {
    const names = offers.map(
      ({ name, summary }) => `-f -a ${quote(name)}${summary ? ` -d ${quote(summary)}` : ''}`,
    );
    const options = Object.entries(flags).map(
      ([name, { short, value, help }]) =>
        `-l ${name}${short ? ` -s ${short}` : ''}${value ? ' -r' : ''} -d ${quote(help)}`,
    );
    const here = `-n ${quote(`__relay_at ${quote(path)}`)}`;
    return [...names, ...options].map((line) => `${here} ${line}`);
  });
  return `# fish completion for relay
function __relay_at
    set -l at ''
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case ${valueFlags(tree).join(' ')}
                set skip 1
                continue
            case '-*'
                continue
        end
        set -l next (string trim -- "$at $word")
        switch $next
            case ${commandPaths(tree).join(' ')}
                set at $next
        end
    end
    test "$at" = "$argv[1]"
end
${['relay', 'contextrelay'].flatMap((name) => lines.map((line) => `complete -c ${name} ${line}`)).join('\n')}
`;
}

/**
 * Returns the flags that take a value. The scripts skip the word after such a flag, because it is not a
 * command.
 */
function valueFlags(tree: readonly TreeNode[]): string[] {
  const names = tree.flatMap(({ flags }) => Object.keys(flags).filter((name) => flags[name]!.value));
  return [...new Set(names)].map((name) => `--${name}`);
}

/** Returns the quoted full names of all commands and groups. */
function commandPaths(tree: readonly TreeNode[]): string[] {
  return tree.flatMap(({ path }) => (path === '' ? [] : [quote(path)]));
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export const commands = { completion };
