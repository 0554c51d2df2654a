/**
 * Frequent English and technical words, each one token of o200k_base: a bound on the cost of a text without loading the
 * tokenizer, which takes longer than a hook may. A test asks the tokenizer about every one of them.
 */

/** One token with or without a space before it, in small letters or with a capital. */
export const WORDS = `
ability able abort about above absolute abstract accept accepted access accessible according account
accounts act action actions activate active activities activity acts actual actually adapter add added
adding addition additional address addresses adds adjust admin advance advanced after again against age
agent agents ago agree agreement algorithm alias align alive all allocation allow allowed allows almost
along already also alt alter alternative although always am among amount an analysis and android another
answer any anything apache api app append apple application applications apply approval approved
architecture archive are area areas arg args argument arguments arm around arr array arrays article as
ask asked assembly assert assign assigned associate associated async at attach attached attempt attention
attribute attributes audit auth authentication author authority authorization authorized authors auto
automatic aux availability available average avoid await away back backend background bad ball bar base
based basic basis batch baz be because been before begin behavior behind being below best better between
big bin binary bind binding bit bits blob block blocking blocks blog blue bob body book bool boolean
boost both bottom bound box branch brand break breaking brief bring broken browser bucket buf buffer bug
build building built bundle business busy but button by byte bytes cache cached call callback called
caller calling calls can cancel candidate cannot capture card care cargo carry case cases cat catch
categories category cause cert certain certificate cha chain challenge chance change changed changes
changing channel channels char character characters charge charset chat check checked checking checkout
checks child children choice choices choose chunk cipher claim claims class classes clean cleanup clear
cli click client clients clone close closed closing cloud cluster cmd code codes coding col collect
collection colon color colors column com combine combined come command commands comment comments
commercial commit committee common communication community companies company compare comparison
compatible compile compiler complete completed completion complex component components compression
compute computer con concept condition conditional conditions conduct conf confidence config
configuration configure confirm conn connect connected connecting connection connections cons consider
console const constant constants constraint constraints construct construction constructor consult
consume consumer contact container contains content contents context continue contract contrast control
controlled controller controls conversion convert converted cookie cookies copies copy copyright core
correct cost could count counter countries counts course cover coverage covered create created creates
creating creation creative credentials credit cross crypto curl current currently cursor curve custom
cycle dan dark data database date day days dead deal deb debug dec decision decode decoder deep def
default defaults define defined defines definition definitions del delay delete deleted dep depend
dependencies dependency depending depends deploy deployment deprecated depth der derived des describe
description descriptor design desired dest destination destroy detail details detect dev develop
developer development device devices dialog dict dictionary did die diff difference different digest
digital dir direct direction directory disable disabled discover discussion disk dispatch dispatcher
display dist distributed distribution do doc docs document documentation documents does doing domain done
dot double down download downloads drive driver drop due dump duplicate duration during dynamic each
early easy echo edge edit editing edition editor effect effective effects either element elements else
email embedded emit empty enable enabled encode encoder encoding encrypt end ending endpoint ends engine
english ensure enter entity entries entry env environment equal err error errors escape especially
essential est eval evaluate evaluation even event events ever every everyone everything exact example
examples excellent except exception exceptions exchange exclusive exec execute execution exercise exist
existing exists exit exp expand expanded expect expected experience experimental explicit export express
expression ext extend extended extension extensions external extra extract fact factor factory fail
failed failure fall false family far fashion fast fatal favor feature features fee feedback feel fetch
few field fields file filename files fill filled filter final finally find finding fine finish finished
first fish fit five fix fixed fixture flag flags float floating flow focus fold folder follow following
font fonts foo for force fork form format formats forms forward found foundation four fragment frame
frames framework free from front full fully fun func function functional functions fund future gain gen
general generate generated generation generator generic get gets getting git give given giving glob
global go goal going good google got government grammar grant graph great greater green group groups grow
growth guard guess guide had half hand handle handler handles handling hard has hash hat have having he
head header headers heap height held hello help helper here hex hidden hide high higher highest hint his
history hit hold holder home hook hooks hope host hosts hot hour hours how however html http hub human
icon id idea ideal ideas identifier identify identity idle if ignore image impact implement
implementation import important imports in inc include included includes including incoming incorrect
increase index individual info inform information init initial initialize initialized inner input inputs
insert inside inspect install installation installed installer instance instances instead instructions
int integer integration intent inter interaction interactive interest interface interfaces internal
international internet interpret interval into invalid invoke is issue issues it item items iterator its
java job jobs join jos json just keep keeping kernel key keys keyword keywords kill kind know knowledge
known label labels land language languages large largest last late later latest launch law layer layout
lead leading learn least leave left legacy legal len length les less let lets letter letters level levels
lib libraries library license licensed life light like limit limited limits line lines link linked links
linux list listed listen listener listing lists literal little live load loaded loader loading loads loc
local locale located location locations lock log logging logic logical login logo logs long look looking
looks lookup loop loss lost lot love low lower mac mach machine machines macro made mag main maintenance
major make makes making man manage managed management manager mandatory manifest manual many map mapping
maps mark marks mask master match matches matching material materials math matter max maximum may me mean
meaning means measure media medium meet meeting mem member members membership memory menu merge message
messages met meta metadata method methods migration min mind minimal minimum minor minutes missing mix
mixed mock mod mode model models modern modified modify module modules moment mon monitor month months
more most mostly move moving msg much multi multiple must my name named names namespace national native
nature near necessary need needed needs negative nested net network never new news next nice no node
nodes non none nor normal normally not note notes nothing notice notification notify now null num number
numbers numeric obj object objective objects of off offer offers official offset often old older on once
one online only open opening operation operations operator operators opt optimization option optional
options or order ordered ordering org organization origin original other others otherwise our out output
outputs outside over overall overflow override overview own owner owners ownership pack package packages
packed packet padding page pages pair pan par para parallel param parameter parameters params parent
parents parse parsed parser part partial participants parts party pass passed passing password past patch
path paths pattern patterns pay payload peer pending people per percent perf perfect perform performance
perhaps period permission permissions permit persistent person personal persons phase phone phrase
physical pick pieces pin pipe pipeline place placeholder places plain plan platform please plugin plus
point pointer points policy pool populate port ports position positive possible post potential pour power
practice pre prefer preferred prefix prepare prepared presence present press pretty prevent previous
price primary prime primitive print printed prior priority private pro probably problem process
processing processor produce product production products professional profile program progress project
projects promise prompt proper properties property proposal protect protected protocol prototype provide
provided provider providers proxy pub public publication publish published pull pure purpose push put
python quality que queries query question questions queue qui quick quite quotes race raise raised ran
random range rare rate rather raw reach read reader reading reads ready real really reason receive
received recent recommend recommended record records recursive red redirect reduce ref refer reference
references reflect refresh reg regex register registered registry regular reject rel related relationship
relationships relative relay release released remaining remember remote remove removed replace
replacement reply repo report reports repository represent representation req request requested requests
require required requirements requires res research reserved reset resolution resolve resolver resource
resources resp respect respond response responses rest restart restore restricted result results resume
ret retrieve retry return returned returns reverse review reviews right rights risk role room root round
route row rule rules run running runs runtime rust safe sale same sample save saved saving say scan
scenario schedule scheduled schema scheme school scope screen script scripts search second secondary
seconds secret section sections secure security see seen segment select selected selection selector self
sell sem sen send sender sending sense sent separator sequence serialization serialized series serve
server servers service services session sessions set sets setting settings setup sha shape share shared
shares sharing she shell shipping short should show shows side sign signal signals signature signed
similar simple since single sit site six size skip slots slow small snapshot so sobre social socket
software sold solution some someone something sometimes soon sort sorted sound source sources space
spaces spec special specific speed split square src stable stack stage stand standard start started
starting starts startup stat state statement states static statistics stats status stay std step steps
still stop storage store stored stores str strategy stream streams strict string strings strong struct
structure structured structures studio stuff style sub subject submission submit submitted success
successful such suggest suite sum summary sun super support supported supports sur sure switch symbol
symbols sync syntax sys system systems tab table tables tag tags take taken taking talk tar target
targets task tasks team teams tech technical technology tell tem template temporary ten term terminal
terms test testing tests text than thanks that the their them then there these they thing things think
third this those though thread threads three threshold through throw throws thus tick ticket time timeout
timer times timestamp title to today todo token tokens tom too tool tools top topics total touch trace
track tracker tracking trade traditional transfer transform transition translation transport tree trees
trigger true trust trusted try trying tuple turn two type typed types typically uint una unable undefined
under unexpected unicode union unique unit units unix unknown unless unsafe unsupported until up update
updated updates upgrade upload upon upper uri url us usage use used user username users uses using
usually utf util utilities utility val valid validate validation value values van var variable variables
variant vector ver verb verification verified verify version versions very via view views virtual visible
visit visual void volume vous wait waiting want wanted warn warning was watch water way ways we weak web
website week weight welcome well were what whatever when where whether which while white who whole why
wide width wiki will win window windows wire wish with within without word words work worked worker
workers workflow working works workspace world would wrap wrapped wrapper write writer writes writing
written wrong xml yang year years yes yet yield you your zero zip
`;

/** One token in small letters behind a space; other forms are not. */
export const SPACED_WORDS = `
aborted acceptable acceptance accepting accepts accessed accessing achieve across additionally additions
addon addons advantage advertising affect affected affects agreed algorithms aliases allocated allowing
alone alongside alternatively alternatives altogether anymore anyone appear appears appended applicable
applied applies applying approach appropriate approve april apt arbitrary argv artifacts asking assume
assumed assuming asynchronous attacks attempted attempting attempts attribution automated automatically
aware backward backwards bash become becomes beginning begins behalf behave behaviors behaviour believe
benefit benefits beyond binaries bindings biome blocked bodies booth brackets branches breaks browsers
buffers bugs builds builtin bundled bypass caching calculated callbacks capabilities carried caused
causes causing certificates chosen circumstances clang clearly closes collaborator collaborators
collected collective combination comes comma commits commonly communicate compared compatibility
compilation compiled compiling completely compliance comply computed concern concerns concurrent
configurations configured conflict conform considered consist consistent consistently consists
constructed consumed consumers consuming consumption contain contained containing contexts continues
continuing contribute contributing contribution contributions contributor contributors convenience
convenient convention conventions converting converts copied copying correctly correspond corresponding
corresponds couple covers crash customize damages debugger debugging decide decisions declaration
declared decoding defining dependent deps derivative described describes describing designed destroyed
detailed detected detection detector determine determined determines determining developed developers
developing diagnostic diagnostics differ differences difficult directly directories disclaimer discuss
discussed displayed displays distinct distribute documented dov downloaded downloading dropped earlier
easier easily ecosystem effectively efficient effort electronic elsewhere emitted emitter enables
enabling encoded encountered encourage encrypted encryption ended endif enforce engines enough ensures
entire entirely environments equivalent escaped eslint establish established etc evaluated exactly
exceeded exclude excluded excluding executable executed executing existence exits expansion explain
explains explicitly exported exports expose exposed expressed expressions extends extent extracted
extremely failing fails failures fallback faster fetched filtering fixes flexible folders folding
followed follows forces foreach formatted formatting frequently frontend fulfilled functionality funding
furnished further gained garbage generally generates generating generators gives globally goals goes
granted grants guarantee guaranteed guarantees guidelines handled handlers happen happened happens
helpful helps hereby herein highly hints historical holds honor honored hostname href https identical
identification identified identifying ignored immediate immediately implementations implemented
implementing implements implicit implicitly implied imported improve improved improvement improvements
improving inclusion incompatible incomplete incorporated independent indicate indicated indicates
indicating indirect individually individuals infrastructure inherit initialization initiatives inspector
installations installing installs instanceof integers integrity intellectual intended intentionally
interact interested internally interpreted introduced introduction invocation invoked involved issued
iterable iteration itself japan keeps kept kinds knows lack larger latter lau launched laws leak learned
leaves leaving liability liable licenses lifecycle lifetime likely limitation limitations linker linking
lint listeners listening lives locally longer macros mainly maintain maintained maintaining maintains
managers manages managing manner manually marked matched meaningful meant measures mechanism mechanisms
mentioned merged might migrate milliseconds modes modification modifications modifying moved naming
nearest necessarily neither newer newly ninja notices npm obligations obtain obtained obtaining occur
occurred occurs officially omit omitted ones onto opened operate operates operating opportunity
optionally opts ordinary originally outgoing outstanding overdue overridden overrides packaging pairs
parsing particular particularly parties passes patches patent performed performing performs permitted pip
pkg placed platforms policies populated portion portions possibility possibly potentially powerful
practices precedence preserve preserved prevents previously primarily prints problems processed processes
produced produces programming programs prohibited promises promote properly protocols provides providing
publicly publishing purposes quickly quoted ranges reached readable reasonable reasons rebuild receives
receiving recently recognize recognized recorded redistribute referenced referred refers regard regarding
regardless rejected rejection releases relevant reliable rely remain remains removal removes removing
renamed repeated replaced replacing reported reporting represented representing represents reproduce
reproduction requirement requiring resolved resolves resolving respective respectively responsibility
responsible restriction restrictions resulting retain retrieved returning reuse revert reviewed robust
royalty safely safety said satisfy says scoped scopes searched searches searching selecting sends
sensitive separate separated separately sequences serves several shall showing shown signatures
significant significantly signing silently similarly simply situation situations skipped slightly smaller
sockets socks sole solely somehow specifically specification specifications specified specifies specify
specifying sponsors stability standards stated statements stderr stdin stdout steering stopped stops
streaming strictly strongly sublicense subsequent subset substantial successfully sufficient suffix
suitable supplied supply supporting suppress symbolic synchronous synopsis takes targeting tells
terminate terminated tested themselves therefore thereof throughout throwing thrown timers timing
together took towards traces trademark trademarks trailers trailing transformation transmission treat
treated tries triggered triggers turned turns twice typical underlying understand understood universal
university unlike unnecessary unset unsigned updating upstream urllib urls useful usual valign variants
variety various vary vulnerabilities vulnerability wants warnings warns warranties warranty watching
whenever whitespace whom whose widely worldwide wrapping writable wrote yesterday yourself
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
