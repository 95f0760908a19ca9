/** The three stores of the demo, by what the tables call them. */
export type StoreName = "europe" | "gulf" | "china"

/** Title, price in euros, what it is in a sentence; the stores, when they are not those of its family. */
type ProductLine = readonly [title: string, price: number, text: string, stores?: ReadonlyArray<StoreName>]

/** Products that share all but a name, a price and a sentence; by handle. */
export interface ProductFamily {
  readonly type: string
  readonly vendor: string
  /** Begins their SKUs. */
  readonly code: string
  readonly tags: ReadonlyArray<string>
  /** Choices by option name; a variant for each combination, a single one when there are none. */
  readonly options: Readonly<Record<string, ReadonlyArray<string>>>
  /** Euros by which each choice of the first option costs more than the one before it. */
  readonly priceStep?: number
  readonly weightGrams: number
  readonly stores: ReadonlyArray<StoreName>
  /** Closes every description. */
  readonly promise: string
  /** Where their pictures were taken: ends every alt text. */
  readonly scene: string
  /** Metafields by key. */
  readonly metafields: Readonly<Record<string, string>>
  readonly products: Readonly<Record<string, ProductLine>>
}

const everywhere: ReadonlyArray<StoreName> = ["europe", "gulf", "china"]
const house = "Tarn & Tern"

export const families: ReadonlyArray<ProductFamily> = [
  {
    type: "Backpacks",
    vendor: house,
    code: "PK",
    tags: ["hiking", "bags", "storm-season"],
    options: { Color: ["Moss", "Slate", "Rust", "Dusk"] },
    weightGrams: 740,
    stores: everywhere,
    promise: "Sewn from one bolt of waxed canvas, so a patch always matches.",
    scene: "leaning on a granite slab",
    metafields: { "care.washing": "Sponge off, dry in the shade", "specs.fabric_weight_gsm": "420" },
    products: {
      "kestrel-20": ["Kestrel 20 Daypack", 89, "Room for water, wool and lunch, and a lid that stays shut."],
      "kestrel-28": ["Kestrel 28 Daypack", 104, "The Kestrel for people who pack a second jumper."],
      "curlew-45": ["Curlew 45 Trek Pack", 169, "Five days of hut to hut, carried on the hips."],
      "plover-sling": ["Plover Sling", 45, "Map, phone, apple. Swings round to the front."],
      "wader-roll-top": [
        "Wader Roll-Top",
        119,
        "Floats, shrugs off spray, sits upright in a boat.",
        ["europe", "china"]
      ],
      "ferry-duffel": ["Ferry Duffel", 129, "Wide mouth, short straps, built for luggage racks."],
      "tern-tote": ["Tern Tote", 39, "The market bag that also goes up the hill."]
    }
  },
  {
    type: "Shelters",
    vendor: house,
    code: "SH",
    tags: ["camping", "storm-season"],
    options: { Color: ["Lichen", "Sand"] },
    weightGrams: 2100,
    stores: ["europe", "china"],
    promise: "Every seam is taped by hand and rained on before it leaves us.",
    scene: "pitched beside a still lake",
    metafields: { "care.washing": "Never machine wash; air before storing", "specs.season": "3" },
    products: {
      "bothy-1": ["Bothy 1 Tent", 289, "One sleeper, one dog, one porch."],
      "bothy-2": ["Bothy 2 Tent", 359, "Two doors, so nobody climbs over anybody."],
      "bothy-4": ["Bothy 4 Family Tent", 549, "Stands up to a week of cousins."],
      "lee-tarp": ["Lee Tarp 3 × 3", 119, "A roof, a wall or a sail, depending on the wind."],
      "sandgrouse-shade": ["Sandgrouse Shade", 149, "Throws shade at noon and lets the breeze in.", everywhere],
      "mizzle-bivy": ["Mizzle Bivy", 139, "A sleeping bag's raincoat."]
    }
  },
  {
    type: "Sleep",
    vendor: house,
    code: "SL",
    tags: ["camping", "sleep"],
    options: { Length: ["Regular", "Long"] },
    priceStep: 15,
    weightGrams: 980,
    stores: everywhere,
    promise: "Filled in small chambers, so the warmth stays where you are.",
    scene: "unrolled on a wooden floor",
    metafields: { "care.washing": "30 °C, wool programme, no softener" },
    products: {
      "drift-plus-5": ["Drift +5 Sleeping Bag", 179, "For summer, hostels and the sofas of friends."],
      "drift-minus-5": ["Drift −5 Sleeping Bag", 239, "For the weeks when the tent creaks with frost."],
      "tussock-mat": ["Tussock Mat", 69, "Thick as a thumb and quieter than most."],
      "eddy-hammock": ["Eddy Hammock", 84, "Two trees, four minutes, one nap."],
      "burrow-quilt": ["Burrow Quilt", 159, "Half a sleeping bag, twice the legroom."]
    }
  },
  {
    type: "Rainwear",
    vendor: house,
    code: "RW",
    tags: ["rain", "clothing", "storm-season"],
    options: { Size: ["S", "M", "L", "XL"], Color: ["Tarn Blue", "Ochre"] },
    weightGrams: 430,
    stores: ["europe", "china"],
    promise: "Reproof it once a year and it will outlast the path.",
    scene: "on a hook by an open door",
    metafields: { "care.washing": "30 °C with soap flakes, tumble dry low", "material.shell": "Recycled nylon" },
    products: {
      "squall-shell": ["Squall Shell", 219, "Three layers, one hood that turns with your head."],
      "drizzle-anorak": ["Drizzle Anorak", 139, "For the rain that cannot make up its mind."],
      "cloudburst-cape": ["Cloudburst Cape", 189, "Long at the back, for cyclists and kings."],
      "puddle-trousers": ["Puddle Trousers", 99, "Go on over boots, come off over mud."],
      "petrichor-poncho": ["Petrichor Poncho ☔", 64, "Covers you, the pack and a small sibling."]
    }
  },
  {
    type: "Knitwear",
    vendor: "Nine Looms",
    code: "KN",
    tags: ["wool", "clothing"],
    options: { Size: ["S", "M", "L"], Color: ["Undyed", "Charcoal"] },
    weightGrams: 390,
    stores: ["europe", "china"],
    promise: "Knitted in nine colours of undyed wool; ask which sheep.",
    scene: "folded on a window seat",
    metafields: { "care.washing": "By hand, cold, flat to dry", "material.yarn": "100 % wool" },
    products: {
      "keel-jumper": ["Keel Jumper", 129, "A fisherman's rib that forgives every shape."],
      "harbour-cardigan": ["Harbour Cardigan", 139, "Horn buttons, deep pockets, no hurry."],
      "skerry-vest": ["Skerry Vest", 89, "Warm where it counts, free at the elbows."],
      "longshore-socks": ["Longshore Socks", 24, "Thick at the heel, thin at the toe.", everywhere],
      "ripple-base-layer": ["Ripple Base Layer", 79, "Fine merino for under everything.", everywhere]
    }
  },
  {
    type: "Accessories",
    vendor: "Nine Looms",
    code: "AC",
    tags: ["wool", "small-gifts"],
    options: { Color: ["Oat", "Peat", "Heather"] },
    weightGrams: 95,
    stores: everywhere,
    promise: "Small enough to post, warm enough to keep.",
    scene: "in a hand, for size",
    metafields: { "care.washing": "By hand, cold" },
    products: {
      "gannet-beanie": ["Gannet Beanie", 32, "Pulls down to the eyebrows, as it should."],
      "bramble-mittens": ["Bramble Mittens", 36, "Tied by a string, never lost again."],
      "dune-scarf": ["Dune Scarf", 48, "Long enough to share."],
      "sun-neckerchief": ["Sun Neckerchief", 18, "Dip it in a stream, wear it wet."],
      "ear-warmer": ["Ear Warmer", 22, "A beanie for people with hair."]
    }
  },
  {
    type: "Trail Kitchen",
    vendor: "Hollin Forge",
    code: "TK",
    tags: ["camping", "cooking", "trail-kitchen"],
    options: {},
    weightGrams: 310,
    stores: everywhere,
    promise: "Pressed, not moulded: dents are allowed.",
    scene: "over a driftwood fire",
    metafields: { "care.washing": "Sand, water, patience", "material.body": "Enamelled steel" },
    products: {
      "ember-stove": ["Ember Twig Stove 🔥", 74, "Boils a kettle on a pocketful of twigs."],
      "billy-kettle": ["Billy Kettle 1.2 L", 49, "Whistles in B flat."],
      "campfire-mug": ["Campfire Mug 🏕️", 16, "Blue enamel, one chip included for free."],
      "nest-pot-set": ["Nest Pot Set", 92, "Four pots that live inside each other."],
      "spork-no-7": ["Spork No. 7", 9, "Six were worse."],
      "skillet-20": ["Trail Skillet 20 cm", 58, "Light enough to carry, heavy enough to sear."],
      "windshield-fold": ["Folding Windshield", 26, "Eight panels between supper and the weather."]
    }
  },
  {
    type: "Bottles & Flasks",
    vendor: "Hollin Forge",
    code: "BF",
    tags: ["hiking", "water", "trail-kitchen"],
    options: { Size: ["0.5 L", "0.75 L", "1 L"] },
    priceStep: 6,
    weightGrams: 340,
    stores: everywhere,
    promise: "Every lid fits every bottle we ever made.",
    scene: "in a cold stream",
    metafields: { "care.washing": "Dishwasher without the lid", "material.body": "18/8 steel" },
    products: {
      "brook-bottle": ["Brook Bottle", 27, "One wall, one lid, no straw."],
      "thaw-flask": ["Thaw Flask", 38, "Tea at six is still tea at noon."],
      "summit-soup-jar": ["Summit Soup Jar", 42, "Lunch, hot, with a view."],
      "oasis-canteen": ["Oasis Canteen", 46, "Felt-jacketed: wet the felt, cool the water."]
    }
  },
  {
    type: "Lighting",
    vendor: "Hollin Forge",
    code: "LT",
    tags: ["camping", "evening", "long-table"],
    options: { Finish: ["Brass", "Black"] },
    weightGrams: 520,
    stores: everywhere,
    promise: "Warm light only; nobody looks good in blue.",
    scene: "on a garden table at dusk",
    metafields: { "care.washing": "Dust with a dry cloth", "specs.hours": "14" },
    products: {
      "wick-lantern": ["Wick Lantern", 79, "Hangs, stands, dims to a glow."],
      "glow-worm": ["Glow-Worm Reading Light", 34, "Clips to a book, a tent, a cap."],
      "moth-headlamp": ["Moth Headlamp", 44, "Red for maps, white for the path."],
      "harbour-lamp": ["Harbour Table Lamp", 119, "The lantern that stayed at home."]
    }
  },
  {
    type: "Tools & Repair",
    vendor: "Hollin Forge",
    code: "TR",
    tags: ["repair", "small-gifts"],
    options: {},
    weightGrams: 130,
    stores: ["europe"],
    promise: "Comes with a card of instructions and our telephone number.",
    scene: "laid out on a workbench",
    metafields: { "material.body": "Carbon steel" },
    products: {
      "peg-set": ["Peg Set of Eight", 19, "Bent once is not bent for good."],
      "mend-tin": ["Mend Tin", 24, "Needle, thread, patch, plaster, tea bag."],
      "whittle-knife": ["Whittling Knife", 39, "For spoons, and for thinking.", ["europe", "china"]],
      "guy-line": ["Guy Line 20 m", 12, "Glows faintly, so shins survive."],
      "wax-bar": ["Canvas Wax Bar", 14, "Rub in, warm up, walk out."],
      "repair-voucher": ["Repair Voucher", 25, "One zip, two seams or three buttons."],
      "sticker-sheet": ["Sticker Sheet 🐦", 4, "Eleven birds and one mistake."]
    }
  },
  {
    type: "Tableware",
    vendor: "Marlpit Pottery",
    code: "TW",
    tags: ["home", "long-table"],
    options: { Glaze: ["Chalk", "Kelp", "Ember"] },
    weightGrams: 460,
    stores: everywhere,
    promise: "Thrown by hand: no two agree on their exact size.",
    scene: "on a long oak table",
    metafields: { "care.washing": "Dishwasher safe", "material.body": "Stoneware" },
    products: {
      "supper-plate": ["Supper Plate", 28, "Wide, low, at home with gravy."],
      "porridge-bowl": ["Porridge Bowl", 24, "Deep enough for seconds."],
      "morning-mug": ["Morning Mug", 22, "A handle for three fingers and a thumb."],
      "salt-pig": ["Salt Pig", 26, "Open-mouthed, by the stove."],
      "milk-jug": ["Milk Jug", 32, "Pours to the last drop without dripping."],
      "serving-dish": ["Serving Dish", 54, "For the thing everyone came for."]
    }
  },
  {
    type: "Home Textiles",
    vendor: "Nine Looms",
    code: "HT",
    tags: ["home", "linen", "long-table"],
    options: { Color: ["Flax", "Indigo", "Madder"] },
    weightGrams: 620,
    stores: ["europe", "gulf"],
    promise: "Washed before you meet it, so it only gets softer.",
    scene: "over the back of a chair",
    metafields: { "care.washing": "40 °C, line dry, iron if you must", "material.yarn": "Linen" },
    products: {
      "long-tablecloth": ["Long Tablecloth", 98, "Three metres of good company."],
      "napkins-four": ["Napkins, Set of Four", 36, "Stains become stories."],
      "tea-towel": ["Tea Towel", 16, "Dries glasses without leaving itself behind."],
      "hearth-blanket": ["Hearth Blanket", 129, "Between the dog and the draught.", everywhere],
      "bath-sheet": ["Waffle Bath Sheet", 58, "Drinks a puddle, dries by noon."],
      "window-cushion": ["Window Cushion", 44, "Makes any sill a seat."]
    }
  },
  {
    type: "Candles & Scent",
    vendor: "Marlpit Pottery",
    code: "CS",
    tags: ["home", "evening", "small-gifts"],
    options: { Size: ["Small", "Large"] },
    priceStep: 14,
    weightGrams: 280,
    stores: everywhere,
    promise: "Rapeseed wax in a pot that becomes a cup.",
    scene: "beside a stack of books",
    metafields: { "material.wax": "Rapeseed" },
    products: {
      "wet-stone-candle": ["Wet Stone Candle", 26, "The first minute after rain."],
      "woodsmoke-candle": ["Woodsmoke Candle 🕯️", 26, "Last night's fire on this morning's jumper."],
      "orange-grove-candle": ["Orange Grove Candle 🍊", 28, "Peel, leaf and a warm wall."],
      "cedar-drawer-blocks": ["Cedar Drawer Blocks", 14, "Moths read them as a warning."]
    }
  },
  {
    type: "Paper Goods",
    vendor: house,
    code: "PG",
    tags: ["paper", "small-gifts"],
    options: {},
    weightGrams: 180,
    stores: ["europe", "china"],
    promise: "Printed on paper that takes a fountain pen.",
    scene: "open on a café table",
    metafields: { "specs.pages": "96" },
    products: {
      "field-notebook": ["Field Notebook", 12, "Rules on the left, dots on the right."],
      "bird-year-calendar": ["A Year of Birds Calendar", 22, "Twelve birds, each in its month."],
      "tide-table-poster": ["Tide Table Poster", 29, "True for nowhere, calming everywhere."],
      "postcards-dozen": ["A Dozen Postcards 💌", 10, "Stamps not included, hope is."],
      "hut-logbook": ["Hut Logbook", 18, "Who came, what the weather did."]
    }
  },
  {
    type: "مستلزمات المجلس",
    vendor: "ورشة القمر",
    code: "MJ",
    tags: ["majlis", "home", "قهوة"],
    options: {},
    weightGrams: 850,
    stores: ["gulf"],
    promise: "صُنعت يدويًا قطعةً قطعة في ورشة صغيرة.",
    scene: "على بساط منسوج",
    metafields: { "care.washing": "يُمسح بقطعة قماش ناعمة" },
    products: {
      "dallah-brass": ["دلّة نحاسية", 86, "لقهوة تُصبّ على مهل ويطول معها الحديث."],
      "finjan-set": ["طقم فناجين من ست قطع", 42, "صغيرة كي تُملأ مرة بعد مرة."],
      "mabkhara-cedar": ["مبخرة من خشب الأرز 🌿", 58, "دخان خفيف ورائحة تبقى في الستائر.", ["gulf", "europe"]],
      "dates-tray": ["صينية تمر", 34, "لها مكان للتمر ومكان للنوى."],
      "floor-cushion": ["مسند أرضي", 76, "للجلسات التي لا يستعجلها أحد."],
      "desert-rug": ["بساط الصحراء", 240, "خطوطه ألوان الرمل من الفجر إلى المساء."],
      "thermos-majlis": ["ترمس المجلس", 48, "يحفظ القهوة ساخنة حتى آخر ضيف."]
    }
  },
  {
    type: "茶具",
    vendor: "青石窑",
    code: "TE",
    tags: ["tea-hour", "home", "茶"],
    options: { 釉色: ["天青", "月白"] },
    weightGrams: 260,
    stores: ["china"],
    promise: "小窑慢烧,每一件都有自己的脾气。",
    scene: "竹席上的静物",
    metafields: { "care.washing": "温水轻洗,勿用洗洁精", "material.body": "青瓷" },
    products: {
      "celadon-teapot": ["青瓷茶壶", 88, "出水利落,断水干净。"],
      "gaiwan-rain": ["听雨盖碗", 52, "盖沿微翘,不烫手指。", ["china", "europe"]],
      "tasting-cups": ["品茗杯(四只)", 46, "一口一杯,刚刚好。"],
      "tea-tray": ["竹制茶盘", 64, "水往低处走,话往深处聊。"],
      "fair-cup": ["公道杯", 32, "人人一样浓淡。"],
      "tea-caddy": ["锡盖茶叶罐 🍵", 38, "盖子自己慢慢落下去。", ["china", "europe"]],
      "mountain-incense-holder": ["远山香插", 28, "一缕烟,几重山。"]
    }
  },
  {
    type: "Autumn Arrivals",
    vendor: house,
    code: "AU",
    tags: ["autumn", "new"],
    options: { Size: ["S", "M", "L", "XL"] },
    weightGrams: 510,
    stores: ["europe", "china"],
    promise: "Arrives when the leaves do.",
    scene: "in the studio, unretouched",
    metafields: { "material.shell": "Waxed cotton" },
    products: {
      "rook-overshirt": ["Rook Overshirt", 149, "A jacket that believes it is a shirt."],
      "acorn-cap": ["Acorn Cap", 39, "Waxed brim, corduroy crown."],
      "bonfire-trousers": ["Bonfire Trousers", 119, "Spark-proof, within reason."],
      "fog-smock": ["Fog Smock", 159, "Pull on, vanish."]
    }
  }
]
