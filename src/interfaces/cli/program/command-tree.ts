import { type Flags, GLOBAL_FLAGS, type Group, isGroup } from '../command.ts';
import { ROOT } from '../commands.ts';

/** What a shell needs to know about one command or group. */
export interface TreeNode {
  /** `thread rm`; empty for `relay` itself. */
  readonly path: string;
  readonly summary: string;
  /** Names and summaries of what may follow. */
  readonly commands: readonly { readonly name: string; readonly summary: string }[];
  readonly flags: Flags;
  /** Positional words that are known ahead, such as the names of shells. */
  readonly words: readonly string[];
}

/** Every command with its flags, loaded from the tree that also routes them; parents before children. */
export async function commandTree(): Promise<TreeNode[]> {
  const nodes: TreeNode[] = [];
  const visit = async (path: string[], group: Group): Promise<void> => {
    const shown = Object.entries(group.commands).filter(([, node]) => !node.hidden);
    nodes.push({
      path: path.join(' '),
      summary: group.summary,
      commands: shown.map(([name, node]) => ({ name, summary: node.summary })),
      flags: GLOBAL_FLAGS,
      words: [],
    });
    for (const [name, node] of shown) {
      if (isGroup(node)) {
        await visit([...path, name], node);
        continue;
      }
      const { default: command } = await node.load();
      nodes.push({
        path: [...path, name].join(' '),
        summary: node.summary,
        commands: [],
        flags: { ...GLOBAL_FLAGS, ...command.flags },
        words: literalWords(command.usage ?? ''),
      });
    }
  };
  await visit([], ROOT);
  return nodes;
}

/** `bash|zsh|fish` is a choice of words; `[file|-]` and `<url>` are not. */
function literalWords(usage: string): string[] {
  return /^[\w-]+(\|[\w-]+)+$/.test(usage) ? usage.split('|') : [];
}
