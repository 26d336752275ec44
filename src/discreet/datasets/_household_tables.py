"""The tables of words and numbers from which `make_households` draws.

Weights are whole numbers with any sum; a table of them has a row per group of people or homes.
"""

import numpy as np


def _words(text: str) -> list[str]:
    return text.split()


# Forty-seven names each: a prime, so that equal steps through a list repeat none in a household.
FEMALE_NAMES = _words(
    "Ada Agnes Alma Amira Anouk Astrid Beatrix Bruna Carla Celia Chloé Clara Dalia Daria Edith "
    "Elena Elif Emma Esther Freya Greta Hanna Ines Irma Jana Judith Katya Laila Leonie Lucía "
    "Maren Marta Mila Nadia Nora Olga Paula Renata Rosa Salma Selma Sofia Tilda Vera Wanda "
    "Yasmin Zoë"
)
MALE_NAMES = _words(
    "Adam Albin Anton Arno Bastian Bruno Cem Cyril Dario David Edgar Elias Emil Erik Farid "
    "Felix Gabriel Georg Hakim Henrik Hugo Ivan Jakob Jonas José Karim Konrad Lars Leo Luca "
    "Magnus Marek Mateo Milan Nils Omar Oskar Pavel Rafael Ruben Simon Stefan Søren Theo Viktor "
    "Yusuf Zeno"
)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
INITIALS = [f"{first}. {second}." for first in LETTERS for second in LETTERS]
LAST_STARTS = _words(
    "Alder Ash Birch Black Bram Brook Clay Cold Crow Dun East Elder Fair Fern Glen Gold Green "
    "Hart Hazel High Holm Kings Lang Lind Long Mill North Oak Raven Red Rook Silver Stone Thorn "
    "Wal West White Wild Winter Wood"
)
LAST_ENDS = _words(
    "beck berg bridge brück by combe dale den feld field ford gate holt hurst low løv man mark "
    "mere mont mount sen shaw stad ström ton vale water wick worth"
)
LAST_NAMES = [start + end for start in LAST_STARTS for end in LAST_ENDS]

REGIONS = ("Vessmark", "Ostara", "Lindholm", "Carrow", "Tamsin", "Pellmoor", "Durness", "Skerry")
REGION_WEIGHTS = (28, 21, 16, 12, 9, 7, 5, 2)
REGION_PAY = np.array([1.15, 1.05, 1.0, 0.95, 1.02, 0.9, 0.85, 0.8])
SAMPLING = np.array([170.0, 150.0, 130.0, 95.0, 80.0, 60.0, 40.0, 18.0])  # people per one asked
# Small households are harder to reach, so each one that answers stands for more.
SIZE_SAMPLING = np.array([1.35, 1.1, 0.95, 0.85, 0.8])
POSTCODE_COUNTS = (420, 330, 260, 200, 150, 120, 90, 40)
# 37 is prime to all counts, so that codes differ; the largest places do not get the lowest codes.
POSTCODES = [
    f"{region * 12_000 + 1_000 + 23 * (rank * 37 % count):05d}"
    for region, count in enumerate(POSTCODE_COUNTS)
    for rank in range(count)
]

# Of 100 homes: one adult, a couple, a couple with children, one parent, adults who share a flat.
HOME_WEIGHTS = (36, 27, 25, 7, 5)
CHILD_WEIGHTS = (42, 39, 14, 4, 1)  # one to five
AGE_EDGES = np.array([18.5, 22.0, 27.0, 35.0, 50.0, 65.0, 80.0, 90.0, 100.0])
AGE_WEIGHTS = (  # of the first adult where there are no children: alone, in a couple, in a flat
    (30, 90, 140, 160, 200, 250, 115, 15),
    (0, 50, 120, 120, 290, 340, 80, 0),
    (300, 450, 200, 50, 0, 0, 0, 0),
)

SINGLE, MARRIED, COHABITING, DIVORCED, WIDOWED = range(5)
MARITAL = ("single", "married", "cohabiting", "divorced", "widowed")

EDUCATION_PAY = {  # the levels in order
    "none": 0.75,
    "primary": 0.8,
    "lower secondary": 0.88,
    "upper secondary": 1.0,
    "vocational": 1.1,
    "bachelor": 1.35,
    "master": 1.6,
    "doctorate": 1.9,
}
EDUCATION_AGES = (12, 16, 19, 20, 22, 24, 28)  # the youngest with each level from "primary" on
PERIODS = (1945, 1960, 1975)
EDUCATION_WEIGHTS = (  # by year of birth: before 1945, before 1960, before 1975, later
    (50, 270, 300, 190, 110, 50, 27, 3),
    (20, 130, 250, 280, 170, 90, 52, 8),
    (10, 50, 170, 330, 190, 140, 98, 12),
    (5, 20, 115, 320, 180, 205, 140, 15),
)

CHILD, PUPIL, STUDENT, RETIRED, UNEMPLOYED, HOMEMAKER, FIRST_JOB = range(7)
OCCUPATIONS = {  # pay, and the share of those without any
    "child": (0, 1),
    "pupil": (0, 1),
    "student": (0.22, 0.4),
    "retired": (0.62, 0.01),
    "unemployed": (0.36, 0.12),
    "homemaker": (0.2, 0.65),
    "cleaner": (0.68, 0),
    "driver": (0.85, 0),
    "farmer": (0.8, 0.04),
    "builder": (0.95, 0),
    "shop assistant": (0.75, 0),
    "cook": (0.78, 0),
    "clerk": (0.95, 0),
    "technician": (1.1, 0),
    "nurse": (1.05, 0),
    "teacher": (1.1, 0),
    "engineer": (1.45, 0),
    "manager": (1.7, 0),
    "lawyer": (1.8, 0),
    "physician": (2.1, 0),
}
JOB_WEIGHTS = (  # of those with a job: up to lower secondary, up to vocational, higher
    (22, 16, 7, 18, 20, 12, 3, 1, 1, 0, 0, 1, 0, 0),
    (4, 8, 4, 14, 16, 6, 20, 14, 9, 1, 1, 4, 0, 0),
    (1, 1, 2, 1, 4, 1, 17, 8, 8, 19, 16, 13, 5, 4),
)

DISEASE_AGES = (18, 40, 60, 75)
DISEASE_RATES = {  # per 100,000 people: under 18, under 40, under 60, under 75, older
    "none": (93_961, 85_656, 70_794, 50_092, 37_574),
    "I10": (20, 1_400, 9_000, 20_000, 25_000),
    "E11": (150, 600, 4_800, 10_500, 12_000),
    "J45": (4_500, 4_000, 3_200, 2_800, 2_400),
    "F32": (900, 4_600, 4_700, 3_500, 3_000),
    "M54": (400, 3_300, 5_200, 5_000, 4_500),
    "I25": (0, 80, 1_000, 4_200, 7_500),
    "C50": (0, 70, 600, 1_600, 2_000),
    "N18": (20, 60, 400, 1_600, 3_300),
    "G20": (0, 1, 40, 300, 900),
    "G30": (0, 0, 10, 300, 1_800),
    "G35": (2, 120, 160, 80, 20),
    "B20": (1, 90, 80, 20, 3),
    "E84": (24, 10, 1, 0, 0),
    "G12": (12, 5, 2, 1, 0),
    "G10": (0, 5, 12, 6, 2),
    "E75": (6, 1, 0, 0, 0),
    "Q87": (4, 2, 1, 1, 1),
}
FEMALE_CANCER, MALE_CANCER = "C50", "C61"
