import { useState } from 'preact/hooks';
import { Badge } from '../../parts/badge.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Icon } from '../../parts/icons.tsx';
import { Answer } from '../../parts/notices.tsx';
import { Ago } from '../../parts/time.tsx';
import { useAsked } from '../../session/asking.ts';
import { type AttentionItem, readAttention } from '../../session/attention.ts';
import { self } from '../../session/self.ts';

const FEW = 6;

/** Everything that failed, is stuck or waits for a person. Each item has one action. */
export function NeedsAttention() {
  const items = useAsked(readAttention, [self.value?.key_id], {
    every: 30_000,
    live: ({ kind }) => /^(?:group\.(?:dead|revived)|pipeline\.|step\.failed|task\.|key\.)/.test(kind),
  });
  const [all, setAll] = useState(false);
  return (
    <section class="panel attention" aria-labelledby="attention">
      <h2 id="attention">
        Needs attention
        {items.value && items.value.length > 0 && <span class="count">{items.value.length}</span>}
      </h2>
      <Answer of={items}>
        {(list) =>
          list.length === 0 ? (
            <p class="soft all-well">
              <Icon name="check" /> Nothing failed, nothing is stuck, and nothing waits for you.
            </p>
          ) : (
            <>
              <ul class="rows" aria-label="Needs attention">
                {(all ? list : list.slice(0, FEW)).map((item) => (
                  <Item key={item.key} item={item} />
                ))}
              </ul>
              {list.length > FEW && (
                <button type="button" class="link small" onClick={() => setAll(!all)}>
                  {all ? 'Show fewer' : `Show ${list.length - FEW} more`}
                </button>
              )}
            </>
          )
        }
      </Answer>
    </section>
  );
}

function Item({ item: { kind, tone, title, why, at, href, action, command } }: { item: AttentionItem }) {
  return (
    <li>
      <Badge tone={tone}>{kind}</Badge>
      <div class="agent">
        <p>
          <ForeignText as="strong" text={title} max={160} />
          {at && (
            <span class="soft">
              {' '}
              <Ago at={at} />
            </span>
          )}
        </p>
        {why && <ForeignText as="p" class="soft small break" text={why} max={300} />}
        {command && (
          <p class="soft small">
            Run <code>{command}</code> on the machine of the relay.
          </p>
        )}
      </div>
      {href ? (
        <a class="button small-button" href={href} aria-label={`${action}: ${title}`}>
          {action}
        </a>
      ) : (
        command && <CopyButton text={command} what="command" />
      )}
    </li>
  );
}
