import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { bytes as amount } from '../../src/base/format.ts';
import { decodeUtf8 } from '../../src/base/utf8.ts';
import { collect } from '../../src/sdk/payload.ts';
import { binaryKind } from '../../src/text/preview/binary-kind.ts';
import { Switch } from '../parts/filters.tsx';
import { Empty, Pending } from '../parts/notices.tsx';
import { CsvView } from './csv-view.tsx';
import { JsonView } from './json-view.tsx';
import { revealHidden } from './reveal-hidden.ts';
import { TextView } from './text-view.tsx';
import { type About, imageType, languageOf, type ViewKind, viewKind } from './view-kind.ts';

/** Maximum number of bytes of a content that a page loads. A download contains all bytes. */
export const MAX_VIEW_BYTES = 2 * 1024 * 1024;

/** Reads a content. Reads only its start if it is longer than a page displays. */
export async function readStart(
  size: number,
  read: (
    range: { start: number; end: number } | undefined,
  ) => Promise<{ body: Parameters<typeof collect>[0] }>,
): Promise<Uint8Array<ArrayBuffer>> {
  if (size === 0) return new Uint8Array();
  const { body } = await read(size > MAX_VIEW_BYTES ? { start: 0, end: MAX_VIEW_BYTES } : undefined);
  return collect(body, { bytes: MAX_VIEW_BYTES, what: 'the displayed part' });
}

interface Props {
  readonly body: Uint8Array<ArrayBuffer>;
  /** Size of the whole content in bytes. `body` may contain only its start. */
  readonly size: number;
  readonly about: About;
  /** True to render Markdown at once, false to render it when the person asks for it. */
  readonly renderAtOnce?: boolean;
}

const TITLES: { readonly [K in ViewKind]: string } = {
  markdown: 'Formatted',
  json: 'Tree',
  csv: 'Table',
  diff: 'Diff',
  image: 'Image',
  text: 'Text',
  binary: 'Bytes',
};

/** Displays content in a suitable viewer, with the raw text one click away. */
export function ContentView({ body, size, about, renderAtOnce = true }: Props) {
  const cut = body.byteLength < size;
  const text = useMemo(() => decodeText(body, cut), [body, cut]);
  const kind = useMemo(() => viewKind(about, text), [about, text]);
  const hasViewer = text !== null && kind !== 'text';
  const [plain, setPlain] = useState(!renderAtOnce && kind === 'markdown');
  useEffect(() => setPlain(!renderAtOnce && kind === 'markdown'), [kind, renderAtOnce, body]);
  if (body.byteLength === 0) return <Empty title="The content is empty." />;
  return (
    <div class="content-view">
      {(hasViewer || cut) && (
        <div class="bar">
          {hasViewer && (
            <Switch
              label="View"
              value={plain ? 'text' : 'formatted'}
              set={(view) => setPlain(view === 'text')}
              options={{ formatted: TITLES[kind], text: 'Text' }}
            />
          )}
          {cut && (
            <span class="soft">
              The first {amount(body.byteLength)} of {amount(size)}. Download it to see the rest.
            </span>
          )}
        </div>
      )}
      {plain && text !== null ? (
        <TextView text={text} label={nameOf(about)} language={languageOf(about.name ?? '')} />
      ) : (
        <View kind={kind} text={text} body={body} about={about} />
      )}
    </div>
  );
}

function View({
  kind,
  text,
  body,
  about,
}: {
  kind: ViewKind;
  text: string | null;
  body: Uint8Array<ArrayBuffer>;
  about: About;
}) {
  const label = nameOf(about);
  if (kind === 'image') return <ImageView body={body} about={about} />;
  if (text === null) return <HexDump body={body} />;
  if (kind === 'markdown' && text.length <= MARKDOWN_CHARS) return <MarkdownView text={text} />;
  if (kind === 'json') {
    const value = parseJson(text);
    if (value !== undefined) return <JsonView value={value} label={label} />;
  }
  if (kind === 'csv') return <CsvView text={text} label={label} />;
  if (kind === 'diff') return <TextView text={text} label={label} lineClass={diffClass} />;
  return <TextView text={text} label={label} language={languageOf(about.name ?? '')} />;
}

/** Displays an image in an `img`, where scripts do not run and nothing is fetched. */
function ImageView({ body, about }: { body: Uint8Array<ArrayBuffer>; about: About }) {
  const [address, setAddress] = useState<string | null>(null);
  const [broken, setBroken] = useState(false);
  useEffect(() => {
    const url = URL.createObjectURL(
      new Blob([body], { type: imageType(about) ?? 'application/octet-stream' }),
    );
    setAddress(url);
    setBroken(false);
    return () => URL.revokeObjectURL(url);
  }, [body]);
  if (broken) return <HexDump body={body} />;
  return address && <img class="picture" src={address} alt={nameOf(about)} onError={() => setBroken(true)} />;
}

const HEX_DUMP_BYTES = 1_024;

function HexDump({ body }: { body: Uint8Array<ArrayBuffer> }) {
  const lines = useMemo(() => hexDump(body.subarray(0, HEX_DUMP_BYTES)), [body]);
  return (
    <>
      <p class="bar">
        <strong>{binaryKind(body)}</strong>
        <span class="soft">the first {Math.min(body.byteLength, HEX_DUMP_BYTES)} bytes</span>
      </p>
      <pre class="dump" tabIndex={0}>
        {lines}
      </pre>
    </>
  );
}

function hexDump(body: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < body.length; at += 16) {
    const row = [...body.subarray(at, at + 16)];
    const hex = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const letters = row
      .map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '·'))
      .join('');
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(47)}  ${letters}`);
  }
  return lines.join('\n');
}

/**
 * Decodes UTF-8. Returns null if the bytes are no text. Cut content may end within a character, so up to
 * three bytes at its end may be dropped.
 */
function decodeText(body: Uint8Array<ArrayBuffer>, cut: boolean): string | null {
  const text = decodeUtf8(body);
  if (text !== null || !cut) return text;
  for (let less = 1; less < 4; less++) {
    const shorter = decodeUtf8(body.subarray(0, body.byteLength - less));
    if (shorter !== null) return shorter;
  }
  return null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function diffClass(line: string): string {
  if (/^(?:\+\+\+|---|diff |index )/.test(line)) return 'diff-file';
  if (line.startsWith('@@')) return 'diff-place';
  if (line.startsWith('+')) return 'diff-added';
  return line.startsWith('-') ? 'diff-removed' : '';
}

function nameOf({ name }: About): string {
  return name || 'Content';
}

/**
 * Maximum length of a text that is rendered as Markdown. A longer text stays plain, because rendering it
 * would block the page.
 */
const MARKDOWN_CHARS = 500_000;

/** Renders Markdown. Raw HTML stays text, images are not fetched, and the output is sanitized again. */
function MarkdownView({ text }: { text: string }) {
  const place = useRef<HTMLDivElement>(null);
  const [failed, setFailed] = useState(false);
  const [ready, setReady] = useState(false);
  useEffect(() => {
    let over = false;
    setReady(false);
    import('./markdown.ts').then(
      ({ renderMarkdown }) => {
        if (over) return;
        place.current?.replaceChildren(renderMarkdown(revealHidden(text)));
        setReady(true);
      },
      () => !over && setFailed(true),
    );
    return () => {
      over = true;
    };
  }, [text]);
  if (failed) return <pre class="break">{revealHidden(text)}</pre>;
  return (
    <>
      {!ready && <Pending what="Formatting" />}
      <div class="markdown" ref={place} />
    </>
  );
}
