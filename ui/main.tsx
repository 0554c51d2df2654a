import { render } from 'preact';
import { App } from './frame/app.tsx';
import { followLinks, segments } from './frame/router.ts';
import { applyTheme } from './frame/theme.ts';
import { stayLive } from './session/live.ts';
import { learnSelf } from './session/self.ts';
import { takeShareToken } from './session/share-link.ts';
import 'uplot/dist/uPlot.min.css';
import './style/base.css';
import './style/frame.css';
import './style/parts.css';
import './style/viewers.css';
import './style/pages.css';

applyTheme();
// Before anything else runs: a token in the address must not stay there.
const shared = takeShareToken();
followLinks();
// Whoever came by a link to a pointer or a thread may look at that alone.
if (!shared && segments.peek()[0] !== 'pull') {
  learnSelf();
  stayLive();
}
render(<App />, document.getElementById('app')!);
