/**
 * spec/labels#limits "the numeric values … not shown"; spec/labels#limits: the first four numbers are the real ones, the rest are chosen.
 * What the read returns and what the rules enforce is this one value.
 */
export const constraints = {
  name: 'limits/label',
  maxTitleLength: 100,
  maxDescriptionLength: 1000,
  maxFields: 10,
  maxDeletedFields: 20,
  maxDraftRevisions: 20,
  fieldLimits: {
    maxIdLength: 50,
    maxDisplayNameLength: 100,
    maxDescriptionLength: 1000,
    textLimits: { minLength: 0, maxLength: 100 },
    longTextLimits: { minLength: 0, maxLength: 2000 },
    integerLimits: { minValue: '-9007199254740991', maxValue: '9007199254740991' },
    dateLimits: { minValue: { year: 1, month: 1, day: 1 }, maxValue: { year: 9999, month: 12, day: 31 } },
    selectionLimits: {
      maxChoices: 200,
      maxDeletedChoices: 200,
      maxDisplayNameLength: 100,
      maxIdLength: 50,
      listLimits: { maxEntries: 10 },
    },
    userLimits: { listLimits: { maxEntries: 10 } },
  },
} as const;
