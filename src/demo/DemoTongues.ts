/** What a translation says. `madeFrom`: an older wording of the source that it was made from; absent: the source as it is. */
export interface Said {
  readonly title: string
  /** One sentence; its paragraph is the description, the sentence itself the search engines' text. */
  readonly text?: string
  readonly madeFrom?: string
}

/** Products in German, by handle; the others wait for their translator. */
export const germanProducts: Readonly<Record<string, Said>> = {
  "kestrel-20": {
    title: "Kestrel 20 Tagesrucksack",
    text: "Platz für Wasser, Wolle und Brotzeit, und ein Deckel, der zu bleibt."
  },
  "kestrel-28": { title: "Kestrel 28 Tagesrucksack", madeFrom: "Kestrel 28 Pack" },
  "curlew-45": { title: "Curlew 45 Wanderrucksack", text: "Fünf Tage von Hütte zu Hütte, getragen auf der Hüfte." },
  "plover-sling": { title: "Plover Umhängetasche", text: "Karte, Telefon, Apfel. Schwingt nach vorn." },
  "ferry-duffel": { title: "Ferry Reisetasche" },
  "bothy-1": { title: "Bothy 1 Zelt", text: "Ein Schläfer, ein Hund, ein Vordach." },
  "bothy-2": { title: "Bothy 2 Zelt", text: "Zwei Türen, damit niemand über jemanden klettert." },
  "bothy-4": { title: "Bothy 4 Familienzelt", madeFrom: "Bothy 4 Tent" },
  "lee-tarp": { title: "Lee Tarp 3 × 3", text: "Dach, Wand oder Segel, je nach Wind." },
  "drift-minus-5": { title: "Drift −5 Schlafsack", text: "Für die Wochen, in denen das Zelt vor Frost knarrt." },
  "eddy-hammock": { title: "Eddy Hängematte", text: "Zwei Bäume, vier Minuten, ein Nickerchen." },
  "squall-shell": { title: "Squall Regenjacke", text: "Drei Lagen, und eine Kapuze, die sich mitdreht." },
  "keel-jumper": { title: "Keel Pullover", text: "Fischerrippe, die jede Figur verzeiht." },
  "gannet-beanie": { title: "Gannet Mütze" },
  "ember-stove": { title: "Ember Zweigkocher 🔥", text: "Kocht einen Kessel mit einer Tasche voll Zweigen." },
  "billy-kettle": { title: "Billy Kessel 1,2 l", madeFrom: "Billy Kettle" },
  "campfire-mug": { title: "Lagerfeuerbecher 🏕️", text: "Blaue Emaille, eine Macke inklusive." },
  "wick-lantern": { title: "Wick Laterne", text: "Hängt, steht, glimmt." },
  "morning-mug": { title: "Morgenbecher", text: "Ein Henkel für drei Finger und einen Daumen." },
  "field-notebook": { title: "Feldnotizbuch", madeFrom: "Field Notes" }
}

/** Collections in German, by handle. */
export const germanCollections: Readonly<Record<string, Said>> = {
  "storm-season": { title: "Sturmzeit ⛈️", text: "Für Tage, die besser sind, als sie aussehen." },
  "trail-kitchen": { title: "Küche unterwegs", text: "Vom Bach bis zum Abendbrot." },
  "long-table": { title: "Die lange Tafel", madeFrom: "The Big Table" },
  "shades-of-wool": { title: "Wolle in allen Tönen" }
}

/** Products whose own language is not English, and whose English was made from an older wording of it, by handle. */
export const oldEnglish: Readonly<Record<string, string>> = {
  "kestrel-20": "حقيبة كستريل",
  "ember-stove": "余烬炉",
  "campfire-mug": "كوب التخييم"
}

/** Products that nobody has put into English yet where they are called otherwise, by handle. */
export const notInEnglish: ReadonlyArray<string> = ["oasis-canteen", "hearth-blanket", "supper-plate"]

/** Collections in English, by handle, where they are called otherwise. */
export const englishCollections: Readonly<Record<string, Said>> = {
  majlis: { title: "The Majlis", text: "A seat for every guest, a coffee for every story." },
  "tea-hour": { title: "Tea Hour", text: "The water boils: sit down.", madeFrom: "喝茶" }
}

/** Products of one store alone in English, by handle. */
export const englishProducts: Readonly<Record<string, Said>> = {
  "dallah-brass": { title: "Brass Dallah", text: "For coffee poured slowly and talk that lasts." },
  "finjan-set": { title: "Finjan Set of Six", text: "Small, so that they are filled again and again." },
  "celadon-teapot": { title: "Celadon Teapot", text: "Pours cleanly, stops cleanly." },
  "tasting-cups": { title: "Tasting Cups, Set of Four", madeFrom: "品茗杯" },
  "gaiwan-rain": { title: "Rain Gaiwan" }
}
