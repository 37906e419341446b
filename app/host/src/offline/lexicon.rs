//! A small dictionary between Korean and English. It only helps: words that are not in it are compared as they stand.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::{is_particle, name_parts, stem, without_particles};

/// What kind of word a concept is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A thing asked about.
    Thing,
    /// A state that a thing is in.
    State,
    /// Asking to see; too common to choose a tool by.
    Show,
    /// Another action that changes nothing.
    Read,
    /// An action that makes or changes something.
    Change,
    /// An action that takes something away.
    Destroy,
}

/// One meaning, with the words for it.
pub(super) struct Concept {
    /// Its name among the keys of [`keys`]; no word begins with `@`.
    pub(super) key: &'static str,
    pub(super) class: Class,
    english: &'static [&'static str],
    korean: &'static [&'static str],
}

const fn concept(
    key: &'static str,
    class: Class,
    english: &'static [&'static str],
    korean: &'static [&'static str],
) -> Concept {
    Concept {
        key,
        class,
        english,
        korean,
    }
}

#[rustfmt::skip]
const CONCEPTS: &[Concept] = {
    use Class::{Change, Destroy, Read, Show, State, Thing};
    &[
    concept("@list", Show, &["list", "show", "display", "enumerate"], &["목록", "리스트", "보여", "나열", "보고싶"]),
    concept("@get", Show, &["get", "show", "fetch", "view", "retrieve", "lookup", "describe", "details", "detail"],
        &["조회", "보여", "가져", "상세", "정보"]),
    concept("@current", Show, &["current", "currently", "now", "today", "latest", "recent", "last", "newest"], &["지금", "현재", "오늘", "최신", "요즘", "최근"]),
    concept("@content", Thing, &["content", "contents"], &["내용"]),
    concept("@count", Read, &["count", "counts", "tally"], &["건수", "개수", "갯수", "몇개", "몇건", "몇명", "얼마나", "세어", "집계"]),
    concept("@search", Read, &["search", "find", "query", "grep", "locate"], &["검색", "찾아", "찾기", "찾는", "찾을"]),
    concept("@read", Read, &["read", "open", "load"], &["읽어", "읽기", "열어", "불러"]),
    concept("@compute", Read, &["calculate", "compute", "evaluate"], &["계산"]),
    concept("@add", Read, &["add", "sum", "plus", "addition"], &["더해", "더하", "더한", "덧셈", "합산", "합계", "합은", "합을"]),
    concept("@subtract", Read, &["subtract", "minus", "subtraction", "difference"], &["빼기", "뺄셈", "빼줘"]),
    concept("@multiply", Read, &["multiply", "times", "product", "multiplication"], &["곱해", "곱하", "곱셈", "곱은"]),
    concept("@divide", Read, &["divide", "division", "quotient"], &["나눠", "나누", "나눗셈"]),
    concept("@convert", Read, &["convert", "conversion"], &["변환", "환산", "바꾸면"]),
    concept("@translate", Read, &["translate", "translation"], &["번역"]),
    concept("@echo", Read, &["echo", "repeat", "echoes"], &["에코", "메아리", "따라해", "따라 해", "반복", "되풀이", "그대로"]),
    concept("@compare", Read, &["compare", "diff", "comparison"], &["비교", "차이"]),
    concept("@summarize", Read, &["summarize", "summary", "summarise"], &["요약"]),
    concept("@sleep", Read, &["sleep", "wait", "pause", "delay"], &["기다려", "기다리", "대기해", "잠들"]),
    concept("@create", Change, &["create", "register", "insert"], &["만들", "생성", "등록", "추가해"]),
    concept("@update", Change, &["update", "change", "modify", "edit", "rename", "move"], &["수정", "변경", "바꿔", "고쳐", "옮겨"]),
    concept("@write", Change, &["write", "save", "store"], &["써줘", "써 줘", "작성", "저장", "기록해"]),
    concept("@send", Change, &["send", "post", "publish", "reply"], &["보내", "전송", "발행", "게시"]),
    concept("@cancel", Destroy, &["cancel"], &["취소"]),
    concept("@delete", Destroy, &["delete", "remove", "purge", "drop", "erase", "wipe", "destroy", "truncate", "clear", "clean", "cleanup"],
        &["삭제", "지워", "지우", "제거", "없애", "비워", "정리", "청소"]),
    concept("@cancelled", State, &["cancelled", "canceled"], &["취소된", "취소됨", "취소한", "취소했", "취소됐"]),
    concept("@deleted", State, &["deleted", "removed"], &["삭제된", "삭제됨", "삭제한", "지워진"]),
    concept("@paid", State, &["paid", "payment", "pay"], &["결제", "결재된", "지불", "입금", "납부"]),
    concept("@unpaid", State, &["unpaid"], &["미결제", "미납"]),
    concept("@pending", State, &["pending", "waiting"], &["대기", "보류", "처리중"]),
    concept("@shipped", State, &["shipped", "shipping", "shipment", "dispatched"], &["배송", "발송", "출고"]),
    concept("@delivered", State, &["delivered", "delivery"], &["배달", "배송완료", "도착"]),
    concept("@refunded", State, &["refunded", "refund"], &["환불"]),
    concept("@new", State, &["new"], &["신규", "새로운", "새 주문"]),
    concept("@include", Read, &["include", "including", "included"], &["포함"]),
    concept("@open", State, &["open", "opened"], &["열린", "미해결"]),
    concept("@closed", State, &["closed", "resolved"], &["닫힌", "해결된"]),
    concept("@completed", State, &["completed", "complete", "done", "finished"], &["완료", "끝난"]),
    concept("@failed", State, &["failed", "failure"], &["실패"]),
    concept("@active", State, &["active", "enabled"], &["활성"]),
    concept("@dryrun", State, &["preview", "dryrun", "simulate", "rehearsal"], &["미리보기", "시험삼아", "모의", "예행"]),
    concept("@weather", Thing, &["weather", "forecast", "temperature", "climate", "rain", "raining", "humidity", "sunny", "cold", "hot",
        "warm", "snow", "snowing", "windy", "cloudy"],
        &["날씨", "기온", "온도", "기상", "일기예보", "예보", "습도", "몇도", "강수", "비", "눈", "바람", "추워", "추운", "더워", "더운", "맑아", "흐려", "따뜻", "쌀쌀"]),
    concept("@order", Thing, &["order", "orders", "purchase"], &["주문", "오더"]),
    concept("@customer", Thing, &["customer", "client", "buyer"], &["고객", "손님", "구매자", "주문자"]),
    concept("@city", Thing, &["city", "town"], &["도시"]),
    concept("@place", Thing, &["place", "location"], &["장소", "지역", "위치"]),
    concept("@status", Thing, &["status", "state"], &["상태"]),
    concept("@time", Thing, &["time", "clock", "hour"], &["시간", "시각", "몇시"]),
    concept("@timezone", Thing, &["timezone"], &["시간대", "표준시"]),
    concept("@date", Thing, &["date", "day", "calendar"], &["날짜", "며칠", "요일", "일자"]),
    concept("@when", Thing, &["tomorrow", "yesterday", "week", "weekend", "month", "year", "morning", "evening", "tonight", "monday",
        "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"],
        &["내일", "모레", "어제", "그제", "지난주", "이번주", "다음주", "지난달", "이번달", "다음달", "작년", "올해", "내년", "주말", "아침", "저녁", "밤",
        "오전", "오후", "월", "일", "년", "지난", "이번", "다음", "월요일", "화요일", "수요일", "목요일", "금요일", "토요일", "일요일"]),
    concept("@number", Thing, &[], &["번호"]),
    concept("@schedule", Thing, &["schedule", "event", "appointment", "meeting"], &["일정", "약속", "회의"]),
    concept("@file", Thing, &["file", "files", "document"], &["파일", "문서"]),
    concept("@directory", Thing, &["directory", "folder", "dir"], &["폴더", "디렉터리", "디렉토리"]),
    concept("@message", Thing, &["message", "text"], &["메시지", "메세지", "쪽지"]),
    concept("@mail", Thing, &["mail", "email"], &["메일", "이메일"]),
    concept("@user", Thing, &["user", "account", "member"], &["사용자", "계정", "회원"]),
    concept("@product", Thing, &["product", "item", "goods"], &["상품", "제품", "물건"]),
    concept("@stock", Thing, &["stock", "inventory"], &["재고", "주가", "주식"]),
    concept("@price", Thing, &["price", "cost", "rate"], &["가격", "요금", "비용", "얼마야", "얼마예요"]),
    concept("@exchange", Thing, &["exchange", "currency"], &["환율", "환전", "통화"]),
    concept("@total", Thing, &["total", "amount"], &["총액", "금액", "매출"]),
    concept("@report", Thing, &["report"], &["보고서", "리포트"]),
    concept("@test", Thing, &["test", "testing", "tests"], &["테스트", "시험"]),
    concept("@commit", Thing, &["commit"], &["커밋"]),
    concept("@branch", Thing, &["branch"], &["브랜치"]),
    concept("@repository", Thing, &["repository", "repo"], &["저장소", "레포"]),
    concept("@issue", Thing, &["issue", "ticket", "bug"], &["이슈", "티켓", "버그"]),
    concept("@log", Thing, &["log", "logs", "history"], &["로그", "이력", "내역", "기록"]),
    concept("@table", Thing, &["table"], &["테이블"]),
    concept("@page", Thing, &["page"], &["페이지", "쪽"]),
    concept("@web", Thing, &["web", "website", "url", "link"], &["웹", "웹사이트", "링크", "주소"]),
    concept("@image", Thing, &["image", "picture", "photo"], &["이미지", "사진", "그림"]),
    concept("@note", Thing, &["note", "memo"], &["메모", "노트"]),
    concept("@task", Thing, &["task", "todo"], &["할일", "작업"]),
    concept("@news", Thing, &["news", "article"], &["뉴스", "기사"]),
    concept("@map", Thing, &["map", "route", "directions"], &["지도", "경로", "길찾기"]),
    ]
};

/// Words that carry no meaning of their own here.
#[rustfmt::skip]
const STOP_ENGLISH: &[&str] = &[
    "a", "an", "the", "is", "are", "was", "were", "be", "been", "am", "do", "does", "did", "i", "me", "my", "we", "us",
    "our", "you", "your", "it", "its", "he", "she", "they", "them", "their", "this", "that", "these", "those", "there",
    "here", "what", "which", "who", "whom", "whose", "how", "when", "where", "why", "please", "can", "could", "would",
    "should", "will", "shall", "may", "might", "must", "have", "has", "had", "of", "in", "on", "at", "to", "for", "from",
    "by", "with", "about", "into", "over", "under", "after", "before", "between", "and", "or", "but", "if", "then", "than",
    "so", "as", "up", "out", "off", "just", "also", "tell", "give", "want", "need", "know", "let", "lets", "let's", "hey",
    "hi", "hello", "ok", "thanks", "thank", "like", "look", "use", "using", "any", "some", "all", "one", "much", "many",
    "mr", "mrs", "ms", "dr", "more", "most", "very", "really", "near", "number", "no", "not", "i'd", "i'm", "it's", "what's", "there's", "like's",
    "outside", "right", "again", "via", "per", "each", "every", "only", "both", "how's", "where's", "who's",
];

#[rustfmt::skip]
const STOP_KOREAN: &[&str] = &[
    "어때", "어떄", "어떤", "어떻게", "어떠니", "어떤가", "어떻습니까", "어때요", "알려", "알려줘", "알려주세요", "알려줄래", "알고",
    "싶어", "싶어요", "좀", "해", "해줘", "해주세요", "해줄래", "해봐", "하나", "줘", "주세요", "줄래", "주라", "부탁", "부탁해",
    "부탁해요", "부탁합니다", "이야", "야", "인가", "인가요", "있어", "있어요", "있나", "있나요", "있는", "있는지", "있니", "있습니까", "뭐", "뭐야",
    "뭔가", "뭐지", "무엇", "무슨", "어느", "어디", "누구", "왜", "언제", "그", "이", "저", "나", "내", "우리", "너", "제", "제가",
    "그리고", "그런데", "또", "다", "모두", "전부", "전체", "총", "것", "거", "거야", "게", "수", "할", "되", "된", "될", "돼",
    "됩니까", "입니까", "입니다", "이에요", "예요", "궁금해", "궁금해요", "궁금한데", "말해", "말해줘", "번째", "쯤", "정도", "대해", "대한", "관한",
    "관해", "중", "중에", "중에서", "몇", "번", "호", "개", "건", "명", "곳", "줄", "도", "시", "분", "초", "님", "씨", "및", "안녕",
    "하는", "하고", "한", "돼요", "되나요", "나와", "나와요", "보니", "봐줘", "봐", "주실래요", "계신가요", "너무", "정말", "진짜", "혹시", "바로", "중인", "어떤지", "와", "올까", "오나", "와요", "오니",
];

/// How a Hangul word ends that is a request or a question and no name.
const KOREAN_PREDICATES: &[&str] = &[
    "해줘",
    "주세요",
    "줄래",
    "줘",
    "나요",
    "까요",
    "습니까",
    "ㅂ니까",
    "합니다",
    "습니다",
    "싶어",
    "싶다",
    "하자",
    "해서",
    "했어",
    "했나",
    "겠어",
    "구나",
    "네요",
    "어요",
    "아요",
    "세요",
];

/// What may follow a known word in the same Hangul word: the rest of a verb.
const KOREAN_VERB_RESTS: &[char] = &[
    '와', '해', '하', '한', '할', '합', '했', '함', '된', '되', '됐', '될', '됨', '돼', '줘', '주', '시', '중', '건',
    '질', '지', '기', '고', '서', '봐', '어', '료', '완', '야',
];

/// Names whose last syllable only looks like a particle.
#[rustfmt::skip]
const PROTECTED: &[&str] = &[
    "카이로", "삿포로", "빈", "나고야", "시드니", "오타와", "말라가", "올랜도", "톨레도", "인도", "제주도", "경기도", "강원도", "충청도", "충청북도", "충청남도", "전라도", "전라북도", "전라남도", "경상도",
    "경상북도", "경상남도", "독도", "여의도", "울릉도", "강화도", "거제도", "진도", "완도", "청도", "영종도", "홋카이도", "교토", "리가", "말레",
    "나이로비", "산토도밍고", "자메이카", "코스타리카", "아메리카", "아프리카", "스리랑카", "바르샤바", "과달라하라", "상트페테르부르크",
];

/// Cities that name a time zone, for tools that take a zone.
#[rustfmt::skip]
const ZONES: &[(&str, &[&str])] = &[
    ("Asia/Seoul", &["seoul", "busan", "korea", "서울", "부산", "한국", "대한민국"]),
    ("Asia/Tokyo", &["tokyo", "osaka", "japan", "도쿄", "오사카", "일본"]),
    ("Asia/Shanghai", &["shanghai", "beijing", "상하이", "베이징", "북경"]),
    ("Asia/Hong_Kong", &["hong kong", "홍콩"]),
    ("Asia/Taipei", &["taipei", "taiwan", "타이베이", "대만"]),
    ("Asia/Singapore", &["singapore", "싱가포르"]),
    ("Asia/Bangkok", &["bangkok", "thailand", "방콕", "태국"]),
    ("Asia/Ho_Chi_Minh", &["ho chi minh", "vietnam", "호치민", "베트남"]),
    ("Asia/Jakarta", &["jakarta", "자카르타"]),
    ("Asia/Kolkata", &["kolkata", "delhi", "new delhi", "mumbai", "india", "델리", "뭄바이", "인도"]),
    ("Asia/Dubai", &["dubai", "두바이"]),
    ("Europe/Moscow", &["moscow", "모스크바"]),
    ("Europe/Istanbul", &["istanbul", "이스탄불"]),
    ("Africa/Cairo", &["cairo", "카이로"]),
    ("Europe/Berlin", &["berlin", "germany", "베를린", "독일"]),
    ("Europe/Paris", &["paris", "france", "파리", "프랑스"]),
    ("Europe/Madrid", &["madrid", "마드리드"]),
    ("Europe/Rome", &["rome", "로마"]),
    ("Europe/London", &["london", "uk", "런던", "영국"]),
    ("America/Sao_Paulo", &["sao paulo", "상파울루"]),
    ("America/New_York", &["new york", "뉴욕"]),
    ("America/Chicago", &["chicago", "시카고"]),
    ("America/Los_Angeles", &["los angeles", "san francisco", "seattle", "로스앤젤레스", "샌프란시스코", "시애틀"]),
    ("America/Toronto", &["toronto", "토론토"]),
    ("America/Vancouver", &["vancouver", "밴쿠버"]),
    ("Pacific/Honolulu", &["honolulu", "hawaii", "호놀룰루", "하와이"]),
    ("Australia/Sydney", &["sydney", "시드니"]),
    ("Pacific/Auckland", &["auckland", "오클랜드"]),
    ("UTC", &["utc", "gmt"]),
];

/// Names of result fields, for answers in Korean.
#[rustfmt::skip]
const LABELS: &[(&str, &str)] = &[
    ("city", "도시"), ("city_ko", "도시"), ("wind_kmh", "풍속(km/h)"), ("include_test", "테스트 포함"), ("is_test", "테스트"),
    ("unit_price", "단가"), ("cancel_reason", "취소 사유"), ("before", "이전 상태"), ("after", "지금 상태"), ("totals", "합계"), ("left_over", "남은 수"),
    ("ids", "번호"), ("country", "나라"), ("location", "위치"), ("name", "이름"), ("title", "제목"), ("temperature", "기온"),
    ("temperature_c", "기온(°C)"), ("temperature_celsius", "기온(°C)"), ("feels_like_c", "체감 온도(°C)"), ("conditions", "날씨"), ("condition", "날씨"), ("humidity", "습도"),
    ("humidity_percent", "습도(%)"), ("wind", "바람"), ("wind_kph", "바람(km/h)"), ("wind_speed", "풍속"), ("wind_mps", "풍속(m/s)"), ("count", "건수"),
    ("total", "합계"), ("amount", "금액"), ("status", "상태"), ("id", "번호"), ("order_id", "주문 번호"), ("order", "주문"),
    ("orders", "주문"), ("customer", "고객"), ("item", "품목"), ("items", "품목"), ("product", "상품"), ("quantity", "수량"), ("price", "가격"), ("currency", "통화"),
    ("created_at", "만든 때"), ("updated_at", "고친 때"), ("ordered_at", "주문한 때"), ("sum", "합"), ("result", "결과"), ("time", "시각"), ("date", "날짜"),
    ("datetime", "일시"), ("timezone", "시간대"), ("message", "메시지"), ("text", "글"), ("error", "오류"), ("source", "출처"), ("next_cursor", "다음 쪽"),
    ("deleted", "지운 수"), ("cancelled", "취소됨"), ("dry_run", "미리보기"), ("observed_at", "잰 때"), ("placed_on", "주문한 날"), ("placed_at", "주문한 때"), ("path", "경로"), ("size", "크기"),
];

/// Values that a state of things has, for answers in Korean.
#[rustfmt::skip]
const STATES: &[(&str, &str)] = &[
    ("new", "신규"), ("pending", "대기"), ("paid", "결제됨"), ("shipped", "배송 중"), ("delivered", "배송 완료"), ("cancelled", "취소됨"),
    ("canceled", "취소됨"), ("refunded", "환불됨"), ("completed", "완료"), ("failed", "실패"), ("open", "열림"), ("closed", "닫힘"),
];

struct Tables {
    english: HashMap<&'static str, Vec<&'static Concept>>,
    stems: HashMap<String, Vec<&'static Concept>>,
    korean: HashMap<&'static str, Vec<&'static Concept>>,
    by_key: HashMap<&'static str, &'static Concept>,
    /// The most syllables a Korean word in here has.
    longest: usize,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let mut tables = Tables {
        english: HashMap::new(),
        stems: HashMap::new(),
        korean: HashMap::new(),
        by_key: HashMap::new(),
        longest: 0,
    };
    for concept in CONCEPTS {
        tables.by_key.insert(concept.key, concept);
        for word in concept.english {
            tables.english.entry(word).or_default().push(concept);
            let stemmed = tables.stems.entry(stem(word)).or_default();
            // `cancelled` has the stem of `cancel`, and means something else.
            let taken = concept.class == Class::State && !stemmed.is_empty();
            if !taken && !stemmed.iter().any(|known| known.key == concept.key) {
                stemmed.push(concept);
            }
        }
        for word in concept.korean {
            tables.longest = tables.longest.max(word.chars().count());
            tables.korean.entry(word).or_default().push(concept);
        }
    }
    tables
});

/// What a word says.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Sense<'w> {
    /// What it can be compared by: its stem, and the concepts it stands for.
    pub(super) keys: Vec<String>,
    /// The part of it that the dictionary does not know and that may be a name.
    pub(super) name: Option<&'w str>,
    /// Whether it carries no meaning of its own.
    pub(super) stop: bool,
}

/// The class of a key; a word that the dictionary does not know is a thing.
pub(super) fn class(key: &str) -> Class {
    let tables = &*TABLES;
    let word = || tables.stems.get(key).and_then(|concepts| concepts.first());
    tables
        .by_key
        .get(key)
        .or_else(word)
        .map_or(Class::Thing, |concept| concept.class)
}

/// Reads a word that is not Hangul.
pub(super) fn read_letters(word: &str) -> Sense<'_> {
    let lower = word.to_lowercase().replace('’', "'");
    let bare = lower.strip_suffix("'s").unwrap_or(&lower);
    if STOP_ENGLISH.contains(&lower.as_str()) || STOP_ENGLISH.contains(&bare) {
        return Sense {
            stop: true,
            ..Sense::default()
        };
    }
    let stemmed = stem(bare);
    let exact = TABLES.english.get(bare);
    let concepts = exact.or_else(|| TABLES.stems.get(&stemmed));
    let mut keys: Vec<String> = concepts
        .into_iter()
        .flatten()
        .map(|concept| concept.key.to_owned())
        .collect();
    let state = concepts.is_some_and(|all| all.iter().all(|concept| concept.class == Class::State));
    // The stem of a state is often the verb that leads to it, which is another thing to ask for.
    let alone = state && exact.is_some();
    if !alone && !stemmed.is_empty() {
        keys.push(stemmed);
    }
    let name = concepts.is_none().then_some(word);
    Sense {
        keys,
        name,
        stop: false,
    }
}

/// Reads a Hangul word: particles are taken off, known words are found inside it.
pub(super) fn read_hangul(word: &str) -> Sense<'_> {
    let tables = &*TABLES;
    let known = |text: &str| -> Option<Vec<String>> {
        Some(
            tables
                .korean
                .get(text)?
                .iter()
                .map(|concept| concept.key.to_owned())
                .collect(),
        )
    };
    if is_particle(word) {
        return Sense {
            stop: true,
            ..Sense::default()
        };
    }
    for form in without_particles(word) {
        if let Some(keys) = known(form) {
            return Sense {
                keys,
                name: None,
                stop: false,
            };
        }
        if STOP_KOREAN.contains(&form) {
            return Sense {
                stop: true,
                ..Sense::default()
            };
        }
        if PROTECTED.contains(&form) {
            return Sense {
                keys: vec![form.to_owned()],
                name: Some(form),
                stop: false,
            };
        }
    }
    if let Some((keys, before)) = known_inside(word) {
        let name = (before.chars().count() >= 2 || PROTECTED.contains(&before)).then_some(before);
        return Sense {
            keys,
            name,
            stop: false,
        };
    }
    let bare = without_particles(word)
        .take_while(|form| form.chars().count() >= 2)
        .last()
        .unwrap_or(word);
    let predicate = bare.chars().count() > 2 && KOREAN_PREDICATES.iter().any(|end| word.ends_with(end));
    // `이서연님` is 이서연, spoken of politely.
    let plain = bare
        .strip_suffix(['님', '씨'])
        .filter(|plain| plain.chars().count() >= 2)
        .unwrap_or(bare);
    Sense {
        keys: vec![bare.to_owned()],
        name: (!predicate).then_some(plain),
        stop: false,
    }
}

/// Known words of two syllables and more inside a Hangul word, and what stands before the first of them.
fn known_inside(word: &str) -> Option<(Vec<String>, &str)> {
    let starts: Vec<usize> = word.char_indices().map(|(at, _)| at).chain([word.len()]).collect();
    let syllables = starts.len() - 1;
    let mut keys = Vec::new();
    let mut before = None;
    let (mut at, mut matched_to) = (0, 0);
    while at < syllables {
        let longest = TABLES.longest.min(syllables - at);
        let hit = (2..=longest).rev().find_map(|length| {
            let concepts = TABLES.korean.get(&word[starts[at]..starts[at + length]])?;
            Some((length, concepts))
        });
        let Some((length, concepts)) = hit else {
            at += 1;
            continue;
        };
        before.get_or_insert(&word[..starts[at]]);
        keys.extend(concepts.iter().map(|concept| concept.key.to_owned()));
        at += length;
        matched_to = at;
    }
    let rest = &word[starts[matched_to]..];
    // `주문해줘` asks for an order; `주문진` is a town.
    let rest_fits = rest.is_empty()
        || is_particle(rest)
        || STOP_KOREAN.contains(&rest)
        || rest.starts_with(KOREAN_VERB_RESTS)
        || without_particles(rest).any(|form| STOP_KOREAN.contains(&form));
    before.filter(|_| rest_fits).map(|before| (keys, before))
}

/// The keys of a text in any script: a tool's name, a description, an allowed value.
pub(super) fn keys(text: &str) -> Vec<Vec<String>> {
    name_parts(text)
        .into_iter()
        .map(|part| {
            if part.starts_with(super::words::is_hangul) {
                read_hangul(part)
            } else {
                read_letters(part)
            }
        })
        .filter(|sense| !sense.stop && !sense.keys.is_empty())
        .map(|sense| sense.keys)
        .collect()
}

/// The time zone that a place keeps.
pub(super) fn zone(place: &str) -> Option<&'static str> {
    let place = place.to_lowercase();
    ZONES
        .iter()
        .find(|(_, places)| places.contains(&place.as_str()))
        .map(|(zone, _)| *zone)
}

/// The Korean word for a state, where the field says that it is one.
pub(super) fn state(field: &str, value: &str) -> Option<&'static str> {
    let is_state = matches!(field, "status" | "state" | "before" | "after");
    STATES
        .iter()
        .find(|(name, _)| is_state && *name == value)
        .map(|(_, state)| *state)
}

/// The Korean name of a result field.
pub(super) fn label(field: &str) -> Option<&'static str> {
    LABELS.iter().find(|(name, _)| *name == field).map(|(_, label)| *label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_languages_meet() {
        for (korean, english) in [
            ("날씨는", "weather"),
            ("주문이", "orders"),
            ("취소해줘", "cancel"),
            ("취소된", "cancelled"),
            ("배송된", "shipped"),
            ("더해줘", "sum"),
        ] {
            let (left, right) = (read_hangul(korean), read_letters(english));
            assert!(
                left.keys.iter().any(|key| right.keys.contains(key)),
                "{korean} {left:?} {english} {right:?}"
            );
        }
    }

    #[test]
    fn a_state_is_not_the_action_that_leads_to_it() {
        let shares = |a: Sense<'_>, b: Sense<'_>| a.keys.iter().any(|key| b.keys.contains(key));
        assert!(!shares(read_letters("cancelled"), read_letters("cancel")));
        assert!(!shares(read_hangul("취소된"), read_hangul("취소해")));
        assert!(!shares(read_letters("deleted"), read_letters("delete")));
    }

    #[test]
    fn names_are_what_is_left() {
        for (word, name) in [
            ("서울", Some("서울")),
            ("서울의", Some("서울")),
            ("서울날씨", Some("서울")),
            ("하노이는", Some("하노이")),
            ("제주도", Some("제주도")),
            ("인도의", Some("인도")),
            ("주문진", Some("주문진")),
            ("주문목록", None),
            ("보여줘", None),
            ("어때요", None),
            ("결제된", None),
        ] {
            assert_eq!(read_hangul(word).name, name, "{word}");
        }
    }

    #[test]
    fn every_word_is_in_the_tables_under_its_own_spelling() {
        for concept in CONCEPTS {
            for word in concept.english {
                assert!(!STOP_ENGLISH.contains(word), "{word} is also passed over");
            }
            for word in concept.korean {
                assert!(!STOP_KOREAN.contains(word), "{word} is also passed over");
            }
        }
    }
}
