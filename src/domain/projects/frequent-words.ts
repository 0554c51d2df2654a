/**
 * Frequent English and technical words, each one token of o200k_base: a bound on the cost of a text without loading the
 * tokenizer, which takes longer than a hook may. A test asks the tokenizer about every one of them.
 */

/** One token with or without a space before it, in small letters or with a capital. */
export const WORDS = `
ability able abort about above absolute accept accepted access according account act action actions
active actual actually add added adding addition additional address adds advanced after again against
agent agents ago agree agreement algorithm alias align all allow allowed allows almost along already also
alt alternative always am amount an analysis and android another answer any anything app append
application applications apply architecture are arg args argument arguments around arr array as ask
assembly assert assigned associated async at attached attempt attribute attributes auth authentication
author authors auto automatic available avoid await away back backend background bad bar base based basic
basis be because been before begin behavior behind being below best better between big bin binary bit
bits block blocks body book boolean both bound branch brand break breaking brief broken browser buffer
bug build building built bundle but by byte bytes cache call callback called calling calls can cannot
capture care case cases catch cause cert certain certificate chain change changed changes changing
channel char character characters charge charset check checked checking checks child choice choose chunk
claims class classes clean clear client clients clone close closed closing cloud code codes collection
color colors column come command commands comment comments commit common communication community compare
compatible compile compiler complete completed completion component components computer condition
conditions conduct config configuration configure connect connected connection connections consider
console const constant constraint constraints construct constructor contact contains content contents
context continue contract control controlled controller controls convert converted cookies copies copy
copyright core correct cost could count course cover coverage covered create created creates creating
creation credentials cross crypto current currently custom dark data database date day days deal debug
decision decode deep def default defaults define defined defines definition definitions delay delete
depend dependencies dependency depending depends deploy deployment deprecated derived describe
description design desired destination destroy detail details detect dev develop developer development
device dict dictionary did diff difference different dir direct directory disable disabled disk dispatch
display dist distributed distribution do doc document documentation does doing domain done double down
download drop due during dynamic each early easy echo edit effect effects either element elements else
email emit empty enable enabled encoding end endpoint ends engine ensure entity entries entry env
environment equal err error errors especially evaluate even event events ever every everyone everything
exact example examples except exception exceptions exec execute execution exist existing exists exit exp
expect expected experience experimental explicit export express expression ext extended extension
extensions external extra fact fail failed failure fall false family far fast favor feature features fee
feel fetch few field fields file filename files filter final finally find finished first fit fix fixed
flag flags float flow folder follow following font foo for force form format forms forward found
foundation four frame framework free from front full fully fun func function functions future general
generate generated generation generator get gets getting git give given global go going good google got
grant graph great greater group groups guide had hand handle handler handles handling hard has hash have
having he head header headers help here high higher history hold home hook hooks host hours how however
html http hub human id idea identifier identify identity if ignore image impact implement implementation
import important in inc include included includes including index individual info information init
initial initialize initialized input inside install installation installed instance instances instead
instructions int integer integration interface interfaces internal interval into invalid is issue issues
it item items iterator its java job json just keep key keys keyword kind know known label land language
languages large last later latest law lead leading least leave left legacy legal length less let level
lib libraries library license licensed light like limit limited limits line lines link linked links linux
list listed listener listing lists literal little live load loaded loading local located location
locations lock log logging logic login logo long look looking looks loop loss lot low lower mac machine
macro made main major make makes making man manage managed management manager manual many map mark match
matches matching material materials max maximum may me mean meaning means media medium meet member
members memory merge message messages met metadata method methods migration min minimum minor minutes
missing mock mode model modern modified modify module modules month more most move much multi multiple
must my name named names namespace native necessary need needed needs negative nested net network never
new next no node non none nor normal normally not note notes nothing notice now null num number numbers
obj object objects of off offer official offset often old older on once one online only open opening
operation operations operator opt option optional options or order org organization origin original other
others otherwise our out output outside over override own owner pack package packages page pages pair
param parameter parameters params parent parse parsed parser part parts party pass passed passing
password patch path paths pattern patterns payload pending people per percent perform performance
permission permissions permit person personal phase place places plan platform please plugin plus point
pointer points policy pool port position positive possible post potential power practice pre prefer
preferred prefix present prevent previous primary print printed prior priority private pro probably
problem process processing produce product production products program progress project projects promise
prompt proper properties property protocol provide provided provider proxy public publish published pull
purpose push put python que query question questions queue raise raised random range rather raw read
reading ready real really reason receive received recent recommend recommended record red reduce refer
reference references reg register registered registry regular reject rel related relative relay release
released remaining remote remove removed replace report reports repository represent representation req
request requested requests require required requirements requires res reserved reset resolution resolve
resource resources respect response rest result results retry return returned returns review right rights
root rule rules run running runs runtime safe same save saved say schema scheme scope script scripts
search second seconds section sections secure security see select selected selection self sell send
sending sense sent sequence server servers service services session sessions set sets setting settings
setup share shared shell short should show shows side sign signal signature signed similar simple since
single site size skip small so socket software solution some someone something sometimes source sources
space spaces spec special specific speed src stable stack standard start started starting starts stat
state statement static status std step steps still stop storage store stored stores str strategy stream
streams strict string strings structure studio style sub subject submit submitted success successful such
suite summary super support supported supports sure switch symbol symbols sync syntax system systems tab
table tag tags take taken taking tar target targets task tasks team teams technical technology tell
template term terminal terms test testing tests text than that the their them then there these they thing
things think third this those though thread threads three through throw throws thus time timeout times
title to today todo token tokens too tool tools top total trace track tracker transfer transform tree
trigger true trust try trying turn two type types typically uint undefined under unicode unique unit
unknown unless until up update updated updates upgrade upload upon url us usage use used user username
users uses using usually util valid validation value values var variable variables ver verification
verify version versions very via view virtual visible visual void wait waiting want warn warning was
watch water way ways we web website well were what when where whether which while who whole why wide
width will window windows wish with within without word words work worker working works workspace world
would write writes writing written wrong year years yet you your zero
`;

/** One token in small letters behind a space; other forms are not. */
export const SPACED_WORDS = `
accepts across additionally affect allowing anyone appear applicable applied applies approach appropriate
assume automatically aware bash become becomes beginning blocked bugs builds caused causes combination
comes commits compatibility compiled completely configured considered consistent contain contained
containing contribution contributions contributor contributors correctly corresponding damages decisions
defining dependent described designed detailed detection determine determined developers differ
differences directly directories distribute documented earlier easier easily emitted enables encoded
enough entire entirely environments equivalent established etc evaluated exactly executable executed
explicitly exported exports exposed expressions extends failing fails faster followed follows frontend
functionality further gained generally generates generating generators gives granted guidelines handled
happen happens helpful hereby href https ignored immediately implemented implements implied imported
improve improved independent indicate indicates installing intended introduced invoked involved itself
kept larger learned liability licenses likely limitation limitations linking listening longer manner
manually marked mechanism might migrate modification modifications newly npm obtain occur occurred occurs
ones operate operating overdue packaging pairs parsing particular passes patent performed permitted pip
placed platforms policies previously prints problems processed processes produced programs promises
properly provides providing purposes readable reasons receiving recently regardless releases relevant
remain removes replaced reported representing represents resolved respectively responsibility responsible
resulting said says separate several shall shown significant simply specifically specification specified
specifies specify specifying stability standards streaming subsequent successfully suitable supplied
supporting takes tells tested themselves therefore thrown together treat treated underlying understand
unlike urllib useful various warnings warranty whenever whom whose yesterday
`;

/** Marks and line ends that stand together as one token. */
// biome-ignore format: a table
export const MARKS: readonly string[] = [
  '\n\n', '\n\n\n', ' "', ' #', ' ${', ' \'', ' (', ' (`', ' *', ' **', ' +', ' -', ' --', ' -->\n\n',
  ' .', ' ..', ' ...', ' ./', ' /', ' //', ' :', ' <', ' =', ' =>', ' @', ' [', ' [`', ' _', ' `', ' `\'',
  ' `.', ' ``', ' {', ' {\n', ' |', ' }', ' }\n', ' },\n', '"\n', '",', '",\n', '":', '##', '###', '####',
  '\'\n', '\')\n', '\');\n', '\',', '\',\n', '(\n', '(\'', '()', '()\n', '();\n', '()`', '([', ')\n',
  ')\n\n', '),', '),\n', ').', ').\n', ').\n\n', ');\n', ')`', '**', '++', ',\n', '---\n', '---\n\n',
  '-------\n\n', '-->\n\n', '.\n', '.\n\n', '.\n\n\n', '.\n\n\n\n', '.)', '.)\n\n', '..', '/\n', '/)',
  '//', ':\n', ':\n\n', ':**', '://', '::', '::\n', '::\n\n', ':`', ';\n', '<!--', '</', '="', '>\n',
  '>\n\n', '>`', '[`', ']\n', ']\n\n', '](', ']:', '][', '][]', '_<', '`\n', '`\n\n', '`)', '`,', '`,\n',
  '`.', '`.\n', '`.\n\n', '`:', '``', '``.\n\n', '```', '}\n', '}\n\n',
];
