// Searches the guides. It finds sections that contain every word of the query. A word of the query also matches longer
// words that begin with it. Matches in titles score higher than matches in text.
const field = document.getElementById('search');
const list = document.getElementById('results');
const up = document.documentElement.dataset.up;
const MOST = 12;

const entries = globalThis.guideIndex.map((entry) => ({
  ...entry,
  inTitle: entry.title.toLowerCase(),
  inPage: entry.page.toLowerCase(),
  inWords: entry.words.toLowerCase(),
}));

function score(entry, words) {
  let sum = 0;
  for (const word of words) {
    const place = (text) => (new RegExp(`(^|[^\\p{L}\\p{N}])${escaped(word)}`, 'u').test(text) ? 1 : 0);
    const found = place(entry.inTitle) * 8 + place(entry.inPage) * 3 + place(entry.inWords);
    if (found === 0) return 0;
    sum += found;
  }
  return sum * entry.weight - Math.min(entry.inWords.length, 4000) / 8000;
}

function escaped(word) {
  return word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

function show() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found =
    words.length === 0
      ? []
      : entries
          .map((entry) => ({ entry, points: score(entry, words) }))
          .filter(({ points }) => points > 0)
          .sort((a, b) => b.points - a.points)
          .slice(0, MOST);
  list.replaceChildren(...found.map(({ entry }) => item(entry, words)));
  if (words.length > 0 && found.length === 0) {
    const none = document.createElement('li');
    none.textContent = 'Nothing was found.';
    list.append(none);
  }
  list.hidden = words.length === 0;
}

function item({ to, page, title, words }, wanted) {
  const link = document.createElement('a');
  link.href = `${up}/${to}`;
  const name = document.createElement('b');
  name.textContent = title === page ? title : `${page}: ${title}`;
  const around = document.createElement('span');
  around.textContent = passage(words, wanted);
  link.append(name, around);
  const row = document.createElement('li');
  row.append(link);
  return row;
}

function passage(text, words) {
  const at = Math.max(
    0,
    Math.min(...words.map((word) => text.toLowerCase().indexOf(word)).filter((i) => i >= 0)),
  );
  const begin = Number.isFinite(at) ? Math.max(0, at - 40) : 0;
  return (begin > 0 ? '…' : '') + text.slice(begin, begin + 130) + (text.length > begin + 130 ? '…' : '');
}

field.addEventListener('input', show);
document.addEventListener('keydown', (event) => {
  const typing = event.target instanceof HTMLInputElement;
  if (event.key === '/' && !typing) {
    event.preventDefault();
    field.focus();
  } else if (event.key === 'Escape') {
    field.value = '';
    show();
  } else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && !list.hidden) {
    const links = [...list.querySelectorAll('a')];
    const next = links.indexOf(document.activeElement) + (event.key === 'ArrowDown' ? 1 : -1);
    event.preventDefault();
    (links[next] ?? (next < 0 ? field : links.at(-1)))?.focus();
  } else if (event.key === 'Enter' && event.target === field) list.querySelector('a')?.click();
});
document.addEventListener('click', (event) => {
  if (!event.target.closest('.search')) list.hidden = true;
});

// Open the menu on a wide screen, and close it on a narrow one.
const menu = document.getElementById('menu');
const wide = matchMedia('(min-width: 60rem)');
const fit = () => {
  menu.open = wide.matches;
};
wide.addEventListener('change', fit);
fit();
