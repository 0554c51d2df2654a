import { render } from 'preact';
import { App } from './frame/app.tsx';
import { followLinks, segments } from './frame/router.ts';
import { applyTheme } from './frame/theme.ts';
import { followActivity } from './session/live.ts';
import { loadSelf } from './session/self.ts';
import { readShareToken } from './session/session.ts';
import 'uplot/dist/uPlot.min.css';
import './style/base.css';
import './style/frame.css';
import './style/parts.css';
import './style/viewers.css';
import './style/pages.css';

applyTheme();
// Must run first: a token must not stay in the address.
const shared = readShareToken();
followLinks();
// A visitor with a link to a pointer or a thread may see only that.
if (!shared && segments.peek()[0] !== 'pull') {
  loadSelf();
  followActivity();
}
render(<App />, document.getElementById('app')!);
