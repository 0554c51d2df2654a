/**
 * How to say "disregard your earlier instructions" in other languages: a verb, what it is done to, and the word that
 * says which ones are meant. `*` stands for any ending and `_` for
 * a blank. Written as people write; accents are folded away.
 */
export interface Language {
  readonly name: string;
  readonly verbs: string;
  readonly nouns: string;
  readonly which: string;
  /** Words are written without blanks between them. */
  readonly dense?: true;
}

export const LANGUAGES: readonly Language[] = [
  {
    name: 'Spanish',
    verbs: 'ignora* ignore ignoren olvid* omit* descart* desobede* desestim* haz_caso_omiso no_hagas_caso',
    nouns: 'instrucci* indicaci* órdenes reglas directrices comandos prompt prompts',
    which: 'anterior* previ* precedent* de_arriba del_sistema originales todas_las',
  },
  {
    name: 'French',
    verbs:
      'ignore ignorez ignorer oublie oubliez oublier négligez néglige désobéis désobéissez tenez_pas_compte tiens_pas_compte',
    nouns: 'instruction* consigne* directive* règles ordres commandes prompt prompts',
    which: 'précédent* antérieur* ci_dessus préalable* du_système toutes_les initiales',
  },
  {
    name: 'German',
    verbs: 'ignorier* vergiss vergessen missachte* verwirf verwerfen übergehe umgehe überschreibe',
    nouns: 'anweisung* instruktion* befehl* regel* vorgabe* richtlinie* prompt prompts systemprompt',
    which: 'vorherig* bisherig* obig* vorangegangen* vorig* früher* alle sämtliche* ursprünglich*',
  },
  {
    name: 'Italian',
    verbs: 'ignora ignorate ignorare dimentica dimenticate trascura tralascia disattendi',
    nouns: 'istruzioni indicazioni regole direttive comandi ordini prompt',
    which: 'precedent* anterior* di_cui_sopra qui_sopra del_sistema tutte_le',
  },
  {
    name: 'Portuguese',
    verbs: 'ignor* esqueç* desconsider* desobede* descart*',
    nouns: 'instruções instrucoes orientações regras diretrizes comandos ordens prompt',
    which: 'anterior* prévi* precedent* acima do_sistema todas_as',
  },
  {
    name: 'Dutch',
    verbs: 'negeer negeren vergeet vergeten sla_over veronachtzaam',
    nouns: 'instructie* opdracht* regels richtlijnen aanwijzing* prompt prompts',
    which: 'vorige eerdere voorgaande bovenstaande alle',
  },
  {
    name: 'Polish',
    verbs: 'zignoruj* ignoruj* zapomnij* pomiń pomińcie odrzuć',
    nouns: 'instrukcj* polece* zasad* reguł* wytyczn* prompt*',
    which: 'poprzedni* wcześniejsz* powyższ* wszystki*',
  },
  {
    name: 'Czech and Slovak',
    verbs: 'ignoruj* zapomeň zapomeňte zabudni zabudnite nedbej',
    nouns: 'instrukc* pokyn* pravidl* příkaz* inštrukci*',
    which: 'předchoz* predchádza* výše všechn* všetk* dosavadn* dřívější',
  },
  {
    name: 'Romanian',
    verbs: 'ignoră ignorați uită uitați',
    nouns: 'instrucțiun* comenz* regul* indicați*',
    which: 'anterioar* precedent* de_mai_sus toate',
  },
  {
    name: 'Swedish, Danish and Norwegian',
    verbs: 'ignorera ignorér ignorer glöm glem bortse_från se_bort_fra',
    nouns: 'instruktion* instruksjon* instruks* anvisning* regler kommando* order',
    which:
      'tidigare tidligere föregående forrige foregående foregaaende ovanstående ovenstående ovenfor alla alle',
  },
  {
    name: 'Finnish',
    verbs: 'ohita unohda jätä_huomiotta älä_välitä',
    nouns: 'ohje* käsky* sään* määräyk*',
    which: 'aiem* edelli* yllä* kaikki',
  },
  {
    name: 'Hungarian',
    verbs: 'hagyd_figyelmen_kívül felejtsd_el ne_vedd_figyelembe',
    nouns: 'utasítás* szabály* parancs*',
    which: 'előző* korábbi* fenti* összes* minden',
  },
  {
    name: 'Turkish',
    verbs: 'yok_say yoksay görmezden_gel unut unutun dikkate_alma göz_ardı_et',
    nouns: 'talimat* komut* kural* yönerge* istem*',
    which: 'önceki yukarıdaki tüm bütün',
  },
  {
    name: 'Indonesian and Malay',
    verbs: 'abaikan lupakan',
    nouns: 'instruksi perintah arahan aturan petunjuk prompt',
    which: 'sebelumnya di_atas terdahulu semua',
  },
  {
    name: 'Vietnamese',
    verbs: 'bỏ_qua phớt_lờ quên hãy_quên',
    nouns: 'hướng_dẫn chỉ_dẫn chỉ_thị lệnh quy_tắc câu_lệnh',
    which: 'trước_đó trước_đây trước phía_trên ở_trên bên_trên',
  },
  {
    name: 'Tagalog',
    verbs: 'balewalain huwag_pansinin kalimutan',
    nouns: 'tagubilin utos panuto instruksyon',
    which: 'nakaraang naunang lahat nasa_itaas',
  },
  {
    name: 'Swahili',
    verbs: 'puuza sahau',
    nouns: 'maagizo maelekezo amri sheria',
    which: 'yaliyotangulia ya_awali yote hapo_juu zilizotangulia',
  },
  {
    name: 'Russian',
    verbs: 'игнорируй* проигнорируй* забудь забудьте отбрось* не_обращай_внимания не_следуй отмени отмените',
    nouns: 'инструкци* указани* команд* правил* промпт* распоряжени*',
    which: 'предыдущ* прежни* вышеуказанн* прошлы* системн* все всё выше',
  },
  {
    name: 'Ukrainian',
    verbs: 'ігноруй* проігноруй* забудь забудьте',
    nouns: 'інструкці* вказівк* команд* правил*',
    which: 'попередн* усі всі вищезгадан* системн*',
  },
  {
    name: 'Bulgarian and Serbian',
    verbs: 'игнорирай* забрави забравете игнориши занемари заборави ignoriši zanemari zaboravi',
    nouns: 'инструкци* указания упутств* наредб* правила uputstv* instrukcij* naredb*',
    which: 'предишн* предходн* претходн* всички све prethodn* sve gornj*',
  },
  {
    name: 'Greek',
    verbs: 'αγνόησε αγνοήστε ξέχνα ξεχάστε παράβλεψε',
    nouns: 'οδηγίες εντολές κανόνες',
    which: 'προηγούμενες παραπάνω όλες',
  },
  {
    name: 'Arabic',
    verbs: 'تجاهل تجاهلي تجاهلوا انس انسَ تجاوز اهمل',
    nouns: 'التعليمات تعليمات الأوامر القواعد التوجيهات الإرشادات',
    which: 'السابقة أعلاه جميع كل الاصلية',
  },
  {
    name: 'Hebrew',
    verbs: 'התעלם התעלמי התעלמו שכח שכחי שכחו',
    nouns: 'ההוראות הוראות ההנחיות הפקודות הכללים מההוראות מההנחיות',
    which: 'הקודמות לעיל כל מכל',
  },
  {
    name: 'Persian',
    verbs: 'نادیده_بگیر نادیده_بگیرید فراموش_کن فراموش_کنید',
    nouns: 'دستورات دستورالعمل* قوانین دستورهای',
    which: 'قبلی پیشین بالا همه تمام',
  },
  {
    name: 'Urdu',
    verbs: 'نظر_انداز_کر* بھول_جاؤ بھول_جائیں',
    nouns: 'ہدایات احکامات',
    which: 'پچھلی سابقہ تمام',
  },
  {
    name: 'Hindi',
    verbs: 'अनदेखा नजरअंदाज नज़रअंदाज़ भूल उपेक्षा',
    nouns: 'निर्देशों निर्देश आदेशों नियमों अनुदेशों',
    which: 'पिछले पूर्व ऊपर सभी पहले',
  },
  {
    name: 'Bengali',
    verbs: 'উপেক্ষা ভুলে অগ্রাহ্য',
    nouns: 'নির্দেশ* নির্দেশনা* আদেশ*',
    which: 'আগের পূর্ববর্তী পূর্বের উপরের সমস্ত সব',
  },
  {
    name: 'Thai',
    verbs: 'เพิกเฉย ละเว้น ลืม ไม่ต้องสนใจ มองข้าม ไม่สนใจ',
    nouns: 'คำสั่ง คำแนะนำ กฎ',
    which: 'ก่อนหน้า ข้างต้น ทั้งหมด เดิม',
    dense: true,
  },
  {
    name: 'Chinese',
    verbs: '忽略 无视 無視 忘记 忘記 忘掉 忽视 忽視 不要理会 不要理會 不用管 抛开 覆盖 不遵守',
    nouns: '指令 指示 提示词 提示詞 命令 规则 規則 设定 設定 系统提示 系統提示',
    which: '之前 以上 上面 先前 前面 所有 此前 原有 系统 系統 一切 全部',
    dense: true,
  },
  {
    name: 'Japanese',
    verbs: '無視 忘れ 破棄 従わない 従うな',
    nouns: '指示 命令 プロンプト ルール 指令 制約',
    which: '以前 これまで 上記 前の 先の すべて 全て 今まで 以上の システム',
    dense: true,
  },
  {
    name: 'Korean',
    verbs: '무시 잊어 따르지 잊으',
    nouns: '지시 명령 프롬프트 규칙 지침 설정',
    which: '이전 위의 앞의 기존 지금까지 모든 앞선 시스템',
    dense: true,
  },
];
