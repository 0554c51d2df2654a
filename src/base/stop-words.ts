/** English stop words: words that say nothing about the topic of a text or question. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about after again all also am an and any are as at be because been before being between both but by can ' +
    'could did do does done each every for from had has have having he her here him his how i if in into is it ' +
    'its just like made make many may me more most much must my no nor not of off on only or other our out over ' +
    'own same she should so some such than that the their them then there these they this those through to too ' +
    'under until up very want was we were what when where which while who whom whose why will with would you your'
  ).split(' '),
);
